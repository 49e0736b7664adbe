"""What is known of a text that may still go on, and what in it makes no sound."""

from dataclasses import dataclass
from enum import IntEnum

from tts.text.controls import Control, control_at
from tts.text.links import target_end


class Level(IntEnum):
    """How good a place to cut is; POOR would tear a number from its unit."""

    POOR = 1
    WORD = 2
    MINOR = 3
    CLAUSE = 4
    SENTENCE = 5


@dataclass(frozen=True, slots=True)
class Step:
    """Scanning goes on at `next`; `text[:position]` may be cut off if `level` is set.

    `silent`: what is stepped over makes no sound and is never cut; `control` is
    the control token that it is, None for the target of a link.
    """

    next: int
    position: int = 0
    level: Level | None = None
    silent: bool = False
    control: Control | None = None


@dataclass(frozen=True, slots=True)
class KnownText:
    """The known text, where the current segment begins in it, and whether more may come.

    `line_start`: the segment begins at the start of a line. `final`: no more text comes.
    """

    text: str
    first: int
    line_start: bool
    final: bool

    def waits(self, at: int) -> bool:
        """Whether what stands at `at` has not come yet."""
        return at >= len(self.text) and not self.final

    def control(self, at: int) -> Control | None:
        """The control token at `text[at]`; raises Undecided."""
        escaped = at > self.first and self.text[at - 1] == "\\"
        if escaped or self.text[at] != "[":
            return None
        return control_at(self.text, at, final=self.final)

    def silent(self, at: int) -> Step | None:
        """The step over a control token or a link's target at `text[at]`; raises Undecided."""
        control = self.control(at)
        if control is not None:
            return Step(control.end, silent=True, control=control)
        if self.text[at] == "]":
            end = target_end(self.text, at, final=self.final)
            return None if end is None else Step(end, silent=True)
        return None
