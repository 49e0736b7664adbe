"""A device whose memory is a number, a clock that is set, and a manager over both."""

from collections.abc import Callable

from models_registry.shards.budget import ShardBudget
from models_registry.shards.manager import ShardManager
from models_registry.shards.resident import ResidentKey


class Device:
    """`used` bytes, of which `garbage` is given back when the manager reclaims."""

    def __init__(
        self, limit: int = 100, minimum_residency: float = 0.0, margin: int = 10_000
    ) -> None:
        self.now = 0.0
        self.used = 1_000
        self.garbage = 0
        self.evicted: list[str] = []
        budget = ShardBudget(limit, 0.9, minimum_residency, margin)
        self.manager = ShardManager(
            budget, lambda: self.used, reclaim=self._reclaim, clock=lambda: self.now
        )

    def hold(self, name: str, *, preferred: bool = True, settled: bool = False) -> None:
        """A holder that lets go as soon as it is asked to."""
        self.manager.hold(name, lambda: self._evict(name), preferred=preferred)
        if settled:
            self.manager.settle(name)

    def load(
        self, holder: str, shard: str, size: int = 10, build: Callable[[], str] | None = None
    ) -> str:
        """The resident of one shard, `size` bytes."""
        return self.manager.resident(
            holder,
            ResidentKey((shard,), "whole"),
            build or (lambda: f"built {shard}"),
            expected=size,
            measure=lambda _: size,
        )

    @property
    def names(self) -> set[str]:
        """The shards that are resident."""
        return {held.digests[0] for held in self.manager.stats().residents if held.digests}

    def _evict(self, name: str) -> None:
        self.evicted.append(name)
        self.manager.let_go(name)

    def _reclaim(self) -> None:
        self.used, self.garbage = self.used - self.garbage, 0
