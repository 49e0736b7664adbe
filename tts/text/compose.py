"""From a piece of the original to what is spoken of it, and the control tokens in it."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from tts.text.characters import GREEK_NAMES
from tts.text.codes import read_codes
from tts.text.controls import Control, ControlKind, find_controls
from tts.text.language import Run, language_runs
from tts.text.markup import clean
from tts.text.normalise import normalise
from tts.text.placing import place
from tts.text.segment import Language, LanguageSpan, Mark
from tts.text.tracked import TrackedText


@dataclass(frozen=True, slots=True)
class Composed:
    """What a piece says. Without `spans` nothing is spoken, and all marks are at 0.

    `prompts_before` are the prompt tokens before its first word, which hold for
    it, `prompts_after` those within or after it, which hold for what follows.
    """

    spans: tuple[LanguageSpan, ...]
    marks: tuple[Mark, ...]
    prompts_before: tuple[Control, ...]
    prompts_after: tuple[Control, ...]


def compose(
    piece: str,
    offset: int,
    *,
    line_start: bool = True,
    hint: Language | None = None,
    before: Language | None = None,
) -> Composed:
    """The language spans and control tokens of `piece`, which begins at `offset` in the original.

    `line_start` says whether the piece begins a line (for mark-up), `before` is
    the language of the segment before.
    """
    text = read_codes(clean(piece, offset, line_start=line_start))
    controls = list(find_controls(piece, offset))
    inline = [control for control in controls if control.kind is ControlKind.INLINE]
    places = [bisect_left(text.starts, control.start) for control in inline]
    spans: list[LanguageSpan] = []
    offsets: list[int] = []
    length = 0
    for run in language_runs(text.text, hint=hint, before=before):
        spoken = _speak(text.text[run.start : run.end], run.language)
        if not any(c.isalnum() for c in spoken):
            continue
        begin = length + 1 if spans else 0
        spans.append(_span(text, run, spoken))
        due = [at for at in places[len(offsets) :] if at < run.end]
        offsets += [length] * sum(at <= run.start for at in due)
        inside = [at - run.start for at in due if at > run.start]
        offsets += _offsets(text, run, spoken, inside, begin)
        length = begin + len(spoken)
    offsets += [length] * (len(inline) - len(offsets))
    first = spans[0].start if spans else offset + len(piece)
    prompts = [control for control in controls if control.kind is ControlKind.PROMPT]
    return Composed(
        tuple(spans),
        tuple(Mark(c.token, at) for c, at in zip(inline, offsets, strict=True)),
        tuple(control for control in prompts if control.start < first),
        tuple(control for control in prompts if control.start >= first),
    )


def _span(text: TrackedText, run: Run, spoken: str) -> LanguageSpan:
    return LanguageSpan(
        language=run.language,
        spoken=spoken,
        start=text.starts[run.start],
        end=text.ends[run.end - 1],
    )


def _offsets(
    text: TrackedText, run: Run, spoken: str, places: Sequence[int], begin: int
) -> list[int]:
    if not places:
        return []
    found = place(
        text.text[run.start : run.end], spoken, places, lambda part: _speak(part, run.language)
    )
    return [begin + at for at in found]


def _speak(written: str, language: Language) -> str:
    return normalise(_name_greek(written, language), language)


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
