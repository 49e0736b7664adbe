"""A request's own random numbers."""

from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]

MAX_SEED: Final = 2**64 - 1
_WORD: Final = 2**32


@dataclass(frozen=True, slots=True)
class StreamKey:
    """What alone decides a stream's numbers: the request's seed, the segment, the attempt.

    Raises ValueError for a seed beyond 64 bits, a segment or an attempt beyond 32.
    """

    seed: int
    segment: int = 0
    attempt: int = 0

    def __post_init__(self) -> None:
        for name, value, limit in (
            ("seed", self.seed, MAX_SEED),
            ("segment", self.segment, _WORD - 1),
            ("attempt", self.attempt, _WORD - 1),
        ):
            if not 0 <= value <= limit:
                raise ValueError(f"{name} must be from 0 to {limit}, got {value}")

    def retried(self, attempt: int) -> Self:
        """The same request's key at another attempt."""
        return type(self)(self.seed, self.segment, attempt)


class RandomStream:
    """Philox4x64 under a `StreamKey`: the numbers of step n are those of counter n.

    Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011).
    """

    def __init__(self, key: StreamKey) -> None:
        words = np.array([key.seed, key.segment * _WORD + key.attempt], np.uint64)
        self._philox = np.random.Philox(key=words)

    def draw(self, count: int, steps: int = 1) -> Doubles:
        """The next steps' numbers (steps, count), in [0, 1) with 32 bits each.

        Whole blocks are used for each step, however many are drawn together.
        """
        blocks = -(-count // 4) * 4
        words: NDArray[np.uint64] = self._philox.random_raw(blocks * steps)
        kept = words.reshape(steps, blocks)[:, :count]
        return (kept >> np.uint64(32)).astype(np.float64) / _WORD
