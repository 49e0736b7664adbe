"""Refinement: ChatTTS writes a text anew, with pauses and laughter, and we see what it did.

It is known to lose, repeat and invent words (ChatTTS issues 582 and 588), so what comes
back is compared with what went in, and the text is spoken as it was where it says another
thing. The limits are a judgement that nobody has tested on real weights yet.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Final

from tts.engines.chattts.generation import End, Generation, Kind, Prompt, RowStep
from tts.engines.chattts.random_stream import StreamKey
from tts.engines.chattts.sampler import Sampling
from tts.engines.chattts.tokens import Piece, Vocabulary
from tts.text.controls import INLINE_TOKENS

SAMPLING: Final = Sampling(temperature=0.7, top_p=0.7, top_k=20, repetition_penalty=1.0)
"""ChatTTS' `RefineTextParams`."""
MOST_LOST: Final = 0.0
"""Share of the words that may be missing."""
MOST_ADDED: Final = 0.1
"""Share of the words that may be new: spoken language has its fillers."""
_LONGER, _SPARE = 1.5, 24
"""How many tokens it may take: times those of the text, and some more."""
_PUNCTUATION: Final = "，。、,."


@dataclass(frozen=True, slots=True)
class Changes:
    """What refinement did to a text of `words` tokens.

    `lost` and `added` count tokens, punctuation and control tokens aside; `marks_kept` says
    that every control token of the text is still there, in order, and none but the inline ones
    is new.
    """

    words: int
    lost: int
    added: int
    marks_kept: bool

    @property
    def acceptable(self) -> bool:
        """Whether the refined text still says the same."""
        return (
            self.marks_kept
            and self.lost <= MOST_LOST * self.words
            and self.added <= MOST_ADDED * self.words
        )


class Refiner:
    """What refinement asks of the step loop, by one version's vocabulary."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._inline = {vocabulary.token(name) for name in INLINE_TOKENS}
        self._controls = set(vocabulary.tokens.values())
        self._ignored = self._controls | set(vocabulary.encode([_PUNCTUATION]))

    def generation(
        self, pieces: Iterable[Piece], controls: Iterable[str], key: StreamKey
    ) -> Generation:
        """The row that refines a text; `controls` are "oral_2", "laugh_0", "break_6"."""
        prompt = self._vocabulary.refine_prompt(pieces, controls)
        longest = round(len(prompt.ids) * _LONGER) + _SPARE
        return Generation(Prompt(prompt.ids), key, longest, SAMPLING, kind=Kind.TEXT)

    def changes(self, before: Sequence[int], after: Sequence[int]) -> Changes:
        """Compare token ids, those of control tokens among them."""
        old, new = (
            [token for token in ids if token not in self._ignored] for ids in (before, after)
        )
        lost = added = 0
        for kind, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if kind != "equal":
                lost, added = lost + j - i, added + m - k
        marks = [token for token in before if token in self._controls]
        found = [token for token in after if token in self._controls]
        rest = iter(found)
        kept = all(mark in rest for mark in marks) and self._inline.issuperset(found)
        return Changes(len(old), lost, added, kept)


@dataclass(slots=True)
class Refining:
    """A row on its way from `before`, the text's token ids, to what is spoken."""

    row: int
    before: tuple[int, ...]
    after: list[int] = field(default_factory=list)
    end: End | None = None
    ended: bool = False

    def advance(self, step: RowStep) -> None:
        """Take in what a step did for the row."""
        if step.restarted:
            self.after.clear()
        if step.codes is not None:
            self.after.append(int(step.codes[0]))
        self.ended, self.end = step.ended, step.end

    def result(self, refiner: Refiner) -> tuple[int, ...]:
        """The refined text's ids, or the text's own where refinement failed or changed it."""
        finished = self.end is End.EOS
        if finished and refiner.changes(self.before, self.after).acceptable:
            return tuple(self.after)
        return self.before
