"""Errors of the text side.

TextError
├── EmptyText             nothing but white space
├── NoSpeakableText       only punctuation, emoji or control tokens
├── TextTooLong           more code points than allowed
├── InvalidCharacter      a code point that is no text (a lone surrogate, NUL)
├── InvalidControlToken   a control token with a level that does not exist ([speed_12])
├── UnsupportedLanguage   letters of a script that the platform does not speak
└── InvalidSplitting      a SplitConfig that cannot work

Positions are code points from 0 in the text as received.
"""


class TextError(ValueError):
    """Base of all text errors; `code` is stable and crosses process boundaries."""

    code = "invalid_text"

    def __init__(self, message: str, *, position: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.position = position


class EmptyText(TextError):
    """The text is empty or blank."""

    code = "empty_text"

    def __init__(self) -> None:
        super().__init__("The text is empty: send at least one letter or digit.", position=0)


class NoSpeakableText(TextError):
    """The text holds characters, but none that can be spoken."""

    code = "no_speakable_text"

    def __init__(self) -> None:
        super().__init__(
            "The text has nothing that can be spoken: punctuation, emoji and control tokens "
            "alone are silent; send at least one letter or digit.",
            position=0,
        )


class TextTooLong(TextError):
    """The text has `length` code points where `limit` are allowed."""

    code = "text_too_long"

    def __init__(self, length: int, limit: int) -> None:
        super().__init__(
            f"The text has {length:,} characters; at most {limit:,} are allowed.", position=limit
        )
        self.length = length
        self.limit = limit


class InvalidCharacter(TextError):
    """The code point at `position` is no text."""

    code = "invalid_character"

    def __init__(self, character: str, position: int) -> None:
        point = ord(character)
        what = "a lone surrogate" if 0xD800 <= point <= 0xDFFF else "a NUL character"
        super().__init__(
            f"U+{point:04X} at position {position} is {what}; send valid Unicode text without it.",
            position=position,
        )
        self.codepoint = point


class InvalidControlToken(TextError):
    """The control token at `position` has a level that does not exist."""

    code = "invalid_control_token"

    def __init__(self, written: str, family: str, most: int, position: int) -> None:
        super().__init__(
            f"The control token {written} at position {position} does not exist; allowed are "
            f"[{family}_0] to [{family}_{most}]. Put a backslash before the bracket to have it "
            "read as text.",
            position=position,
        )
        self.written = written


class UnsupportedLanguage(TextError):
    """The letter at `position` is of a `script` that no voice speaks."""

    code = "unsupported_language"

    def __init__(self, script: str, sample: str, position: int) -> None:
        super().__init__(
            f"{script} text at position {position} ({sample!r}) cannot be spoken; "
            "supported are Chinese and English.",
            position=position,
        )
        self.script = script
        self.sample = sample


class InvalidSplitting(TextError):
    """A split setting is out of its range."""

    code = "invalid_splitting"
