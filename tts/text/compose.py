"""From a piece of the original to the spans that are spoken."""

from collections.abc import Iterator

from tts.text.characters import GREEK_NAMES
from tts.text.language import Run, language_runs
from tts.text.markup import clean
from tts.text.normalise import normalise
from tts.text.segment import Language, LanguageSpan
from tts.text.tracked import TrackedText


def compose(
    piece: str,
    offset: int,
    *,
    line_start: bool = True,
    hint: Language | None = None,
    before: Language | None = None,
) -> tuple[LanguageSpan, ...]:
    """The language spans of `piece`, which begins at `offset` in the original.

    `line_start` says whether the piece begins a line (for mark-up), `before` is
    the language of the segment before. Empty where nothing is spoken.
    """
    text = clean(piece, offset, line_start=line_start)
    runs = language_runs(text.text, hint=hint, before=before)
    return tuple(span for run in runs for span in _speak(text, run))


def _speak(text: TrackedText, run: Run) -> Iterator[LanguageSpan]:
    written = text.text[run.start : run.end]
    spoken = normalise(_name_greek(written, run.language), run.language)
    if any(c.isalnum() for c in spoken):
        yield LanguageSpan(
            language=run.language,
            spoken=spoken,
            start=text.starts[run.start],
            end=text.ends[run.end - 1],
        )


def _name_greek(text: str, language: Language) -> str:
    if text.isascii() or not any(c.lower() in GREEK_NAMES for c in text):
        return text
    column = 1 if language is Language.ZH else 0
    parts: list[str] = []
    for i, character in enumerate(text):
        names = GREEK_NAMES.get(character.lower())
        if names is None or (character == "μ" and text[i + 1 : i + 2] in {"m", "g", "s", "A"}):
            parts.append(character)
        else:
            parts.append(f" {names[column]} " if column == 0 else names[column])
    return "".join(parts)
