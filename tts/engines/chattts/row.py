"""One generation on its way through the loop."""

from dataclasses import dataclass
from enum import StrEnum

from tts.engines.chattts.backend import Floats
from tts.engines.chattts.generation import Generation

NO_SLOT = -1


class RowState(StrEnum):
    """WAITING for a slot; PREFILL, its prompt is being computed; DECODE, token by token."""

    WAITING = "waiting"
    PREFILL = "prefill"
    DECODE = "decode"


@dataclass(slots=True)
class Row:
    """`tokens` were chosen in this attempt, `computed` positions of the prompt are in the cache.

    `inputs` (prompt length, h) are kept while the prompt is being computed.
    """

    number: int
    generation: Generation
    state: RowState = RowState.WAITING
    slot: int = NO_SLOT
    inputs: Floats | None = None
    computed: int = 0
    tokens: int = 0
    attempt: int = 0
    restarted: bool = False

    @property
    def position(self) -> int:
        """Where the last chosen token goes."""
        return self.generation.prompt.length + self.tokens - 1

    def again(self) -> None:
        """Begin the next attempt, from the computed prompt."""
        self.restarted = self.restarted or self.tokens > 0
        self.attempt += 1
        self.tokens = 0


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of one forward that belong to one row: `count` positions from `start`."""

    row: Row
    start: int
    count: int

    @property
    def chooses(self) -> bool:
        """Whether its last position is one from which a token is chosen."""
        decode = self.row.state is RowState.DECODE
        return decode or self.start + self.count == self.row.generation.prompt.length
