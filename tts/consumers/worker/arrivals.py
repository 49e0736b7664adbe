"""Which engines requests will ask for: how many have arrived lately, by engine."""

import math
from collections.abc import Callable, Collection

from tts.consumers.worker.loading import EngineKey

HALF_LIFE_SECONDS = 120.0
"""After so long without requests an engine counts half as much."""
EXPECTED = 0.5
"""An engine that counts less is not loaded ahead: its last request is two half-lives ago or more,
if it had one alone."""


class Arrivals:
    """Requests by engine, each counting half as much after a half-life."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._counts: dict[EngineKey, tuple[float, float]] = {}

    def add(self, key: EngineKey) -> None:
        """A request arrived."""
        self._counts[key] = (self.count(key) + 1.0, self._clock())

    def count(self, key: EngineKey) -> float:
        """How many arrived lately."""
        count, at = self._counts.get(key, (0.0, 0.0))
        return count * math.exp2(-(self._clock() - at) / HALF_LIFE_SECONDS)

    def expected(self, versions: Collection[str]) -> list[EngineKey]:
        """The engines of these versions that will be asked for, most wanted first.

        Forgets all others.
        """
        counts = {key: self.count(key) for key in self._counts if key[0] in versions}
        wanted = {key: count for key, count in counts.items() if count >= EXPECTED}
        self._counts = {key: self._counts[key] for key in wanted}
        return sorted(wanted, key=lambda key: -wanted[key])
