"""How a text is cut into segments."""

from dataclasses import dataclass
from enum import StrEnum

from tts.text.errors import InvalidSplitting


class SplitMode(StrEnum):
    """SENTENCE cuts after sentences, CLAUSE after clauses too, NONE where length forces it."""

    SENTENCE = "sentence"
    CLAUSE = "clause"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class SplitConfig:
    """Sizes count Latin letters; a Chinese character counts 3.5, a digit, a capital letter or a
    symbol that is read as a word 2.5.

    So 200 is about 200 letters of English, or 57 Chinese characters: 10-14 s of
    speech and about 250 of Kokoro's phonemes (it takes 510, but keeps 1.1-1.5 GB of
    memory after such a call). What is longer once it is in words, by a quarter, is
    cut between those. No segment has more code points than `max_chars`, the targets
    of links aside.

    `first_max_chars`: the first segment of a text, and after a flush, is cut
    after a clause when its sentence is longer, so that sound comes early.
    `growth`: a later segment is cut likewise while it would be more than this
    many times longer than all before it, so that speech does not run dry
    (an engine at real-time factor 0.4 computes 2.5 s in one). `min_chars`:
    a shorter sentence or clause is joined with the next; `later_min_chars` is the same
    for all but the first, where more is wanted there: an engine that speaks short
    texts badly can have long ones once sound has come.
    """

    mode: SplitMode = SplitMode.SENTENCE
    max_chars: int = 200
    first_max_chars: int = 60
    min_chars: int = 10
    later_min_chars: int = 10
    growth: float = 2.5

    def __post_init__(self) -> None:
        if self.mode not in set(SplitMode):
            raise InvalidSplitting(
                f"The split mode {self.mode!r} is unknown; allowed are {', '.join(SplitMode)}."
            )
        self._check("max_chars", self.max_chars, 20, 2000)
        self._check("first_max_chars", self.first_max_chars, 10, self.max_chars)
        self._check("min_chars", self.min_chars, 0, self.first_max_chars)
        self._check("later_min_chars", self.later_min_chars, 0, self.max_chars)
        self._check("growth", self.growth, 1, 1000)

    @staticmethod
    def _check(name: str, value: float, least: float, most: float) -> None:
        if not least <= value <= most:
            raise InvalidSplitting(f"{name} is {value}; allowed are {least} to {most}.")
