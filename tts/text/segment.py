"""A piece of text as it will be spoken, tied to where it came from."""

from dataclasses import dataclass
from enum import StrEnum


class Language(StrEnum):
    """Languages the platform speaks."""

    ZH = "zh"
    EN = "en"


@dataclass(frozen=True, slots=True)
class LanguageSpan:
    """A run of normalised text in one language, with its offsets in the original."""

    language: Language
    spoken: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Mark:
    """An inline control token ("laugh", "uv_break", …), heard before `spoken[offset]`."""

    token: str
    offset: int


@dataclass(frozen=True, slots=True)
class Segment:
    """One utterance: `source` is `original[start:end]`, counted in code points.

    `spans` hold what is spoken, in order; a segment with nothing to speak is
    never made. `index` counts from 0 within a request. What only ChatTTS knows:
    `marks` are the inline control tokens in the order in which they stand, their
    offsets never falling; `prompt` the prompt tokens in force ("speed_5", …), one
    of each family at most, families in alphabetical order.
    """

    index: int
    source: str
    spans: tuple[LanguageSpan, ...]
    start: int
    end: int
    marks: tuple[Mark, ...] = ()
    prompt: tuple[str, ...] = ()

    @property
    def spoken(self) -> str:
        """The normalised text of all spans; languages that use spaces are joined by one."""
        return " ".join(span.spoken.strip() for span in self.spans)

    @property
    def languages(self) -> tuple[Language, ...]:
        """The languages in this segment, in order of first appearance."""
        return tuple(dict.fromkeys(span.language for span in self.spans))


def marked(segment: Segment) -> str:
    """`segment.spoken` with its inline tokens, in brackets, in their places."""
    spoken, parts, done = segment.spoken, [], 0
    for mark in segment.marks:
        parts += [spoken[done : mark.offset], f"[{mark.token}]"]
        done = max(done, mark.offset)
    return "".join((*parts, spoken[done:]))
