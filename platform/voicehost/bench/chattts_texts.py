"""What `bench chattts` has spoken: texts of one length, a trial's, a backlog of different ones."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle, islice
from statistics import NormalDist

from voicehost.bench.texts import SHORT

STATIC = 16
"""Rows of the original's batches of mixed lengths, and slots of our profiles."""
BACKLOG = 2 * STATIC
_STRIDE = 11
"""Has no divisor in common with `BACKLOG`: takes the lengths from all over their range in turn."""
SPREAD = 0.6
"""Of the lengths' logarithms: one in six is under 0.55 of the median, one in six over 1.8."""
WARM_UP_TOKENS, TRIAL_SECONDS = 16, 4.0
"""Of a trial at most: what it takes to see which number of rows and threads is faster."""


@dataclass(frozen=True, slots=True)
class Backlog:
    """Texts that wait together, and how many tokens each takes."""

    texts: tuple[str, ...]
    lengths: tuple[int, ...]

    @classmethod
    def lognormal(cls, median: int) -> "Backlog":
        """`BACKLOG` texts with the quantiles of a lognormal distribution, in the same order always.

        Lengths of speech are about that: few are long, and a static batch waits for those.
        """
        normal = NormalDist(math.log(median), SPREAD)
        lengths = [
            max(1, round(math.exp(normal.inv_cdf((place + 0.5) / BACKLOG))))
            for place in range(BACKLOG)
        ]
        mixed = [lengths[place * _STRIDE % BACKLOG] for place in range(BACKLOG)]
        return cls(tuple(texts_of(BACKLOG)), tuple(mixed))

    def batches(self) -> "Iterator[Backlog]":
        """As static batches, in order."""
        for start in range(0, len(self.texts), STATIC):
            part = slice(start, start + STATIC)
            yield Backlog(self.texts[part], self.lengths[part])

    @property
    def static_steps(self) -> int:
        """Steps that static batches take: each as many as its longest text."""
        return sum(max(batch.lengths) for batch in self.batches())


def texts_of(count: int) -> list[str]:
    """So many texts, which repeat themselves."""
    return list(islice(cycle(SHORT), count))
