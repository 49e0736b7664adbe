"""Whether a text can be taken at all, before anything is made of it.

Refused: lone surrogates and NUL. Harmless and taken as they are, so that
offsets stay those of the text as received: other control characters, byte-order
marks, zero-width and direction marks (silent), unusual spaces (spaces),
full-width forms (their plain forms), private and unassigned code points (silent).
"""

import re

from tts.text.characters import check_scripts
from tts.text.controls import check_controls
from tts.text.errors import EmptyText, InvalidCharacter, NoSpeakableText, TextTooLong
from tts.text.markup import is_speakable

_REFUSED = re.compile("[\x00\ud800-\udfff]")
_VISIBLE = re.compile(r"[^\s\u200b-\u200f\u2060\ufeff]")


def check_characters(text: str, offset: int = 0) -> None:
    """Raise InvalidCharacter at the first code point that is no text."""
    match = _REFUSED.search(text)
    if match:
        raise InvalidCharacter(match[0], offset + match.start())


def text_validate(text: str, max_chars: int) -> None:
    """Raise what is wrong with a whole text; `max_chars` counts code points as received.

    TextTooLong, InvalidCharacter, EmptyText (blank), InvalidControlToken,
    NoSpeakableText, UnsupportedLanguage, in this order.
    """
    text_validate_part(text, max_chars)
    if not _VISIBLE.search(text):
        raise EmptyText
    check_controls(text)
    if not is_speakable(text):
        raise NoSpeakableText
    check_scripts(text)


def text_validate_part(text: str, max_chars: int, *, received: int = 0) -> None:
    """The same for a part of a stream, of which `received` code points came before.

    A part may be empty or silent. InvalidControlToken and UnsupportedLanguage are
    raised by the Segmenter, which knows what stood before.
    """
    if received + len(text) > max_chars:
        raise TextTooLong(received + len(text), max_chars)
    check_characters(text, received)
