"""Room for residents: reserved before it is used, made by evictions that are planned whole."""

import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass

from models_registry.errors import ShardMemoryExceeded
from models_registry.shards.budget import ShardBudget
from models_registry.shards.eviction import EvictionPlan, eviction_plan
from models_registry.shards.resident import Holder, Resident, ResidentState, ResidentTable
from models_registry.shards.stats import ShardCounters

LEASES_END_SECONDS = 2.0
"""When to ask again for what leases stand in the way of."""


@dataclass(frozen=True, slots=True)
class _Eviction:
    """What was planned and marked: residents to drop once these holders have let go."""

    residents: tuple[Resident, ...]
    holders: tuple[str, ...]


@dataclass(slots=True)
class Memory:
    """The bytes that a device has in use: `meter` tells them, `reclaim` gives freed ones back."""

    meter: Callable[[], int]
    reclaim: Callable[[], None]
    baseline: int

    @property
    def reported(self) -> int:
        """Bytes in use beyond those at the start."""
        return self.meter() - self.baseline


class Admission:
    """Lets residents grow within a budget. `changed` guards the table and the counters."""

    def __init__(
        self,
        budget: ShardBudget,
        memory: Memory,
        table: ResidentTable,
        counters: ShardCounters,
        changed: threading.Condition,
        clock: Callable[[], float],
    ) -> None:
        self._budget = budget
        self._memory = memory
        self._table = table
        self._counters = counters
        self._changed = changed
        self._clock = clock
        self.peak = 0
        # One admission at a time: no plan may count on bytes that another one frees.
        self._admission = threading.RLock()

    def admit(self, resident: Resident, size: int, name: str) -> None:
        """Have `size` bytes accounted to a resident, after evictions where they are needed.

        What is reserved for the holder of that name is taken first. Raises ShardMemoryExceeded.
        """
        with self._admission:
            more = size - resident.size
            with self._changed:
                holder = self._table.holder(name)
                reserved = holder.reserved if holder is not None else 0
                eviction = self._room(more - reserved, holder)
            if eviction is not None:
                self._evicted(eviction)
            with self._changed:
                holder = self._table.holder(name)
                if holder is not None:
                    self._table.reserve(holder, max(0, holder.reserved - max(0, more)))
                self._table.resize(resident, size)
                self.peak = max(self.peak, self._table.accounted)

    def reserve(self, name: str, size: int) -> None:
        """Keep so many bytes for a holder; raises ShardMemoryExceeded, having changed nothing."""
        with self._admission:
            with self._changed:
                eviction = self._room(size, self._table.holder(name))
            if eviction is not None:
                self._evicted(eviction)
            with self._changed:
                holder = self._table.holder(name)
                if holder is not None:
                    self._table.reserve(holder, size)
                self.peak = max(self.peak, self._table.accounted)

    def shrink(self) -> int:
        """Evict down to the high water, as far as there is what nobody needs; bytes freed."""
        with self._admission:
            with self._changed:
                eviction = self._planned(self._used() - self._budget.high)
            return self._evicted(eviction) if eviction is not None else 0

    def drop(self, residents: Collection[Resident]) -> None:
        """Forget what nobody holds; called with the lock."""
        for resident in residents:
            self._counters.unloads += 1
            self._counters.unloaded_bytes += resident.size
            self._table.remove(resident)

    def reclaimed(self, before: int) -> None:
        """Have freed bytes given back, and count what the device reports less than `before`."""
        self._memory.reclaim()
        freed = max(0, before - self._memory.meter())
        with self._changed:
            self._counters.freed_bytes += freed

    def _room(self, more: int, holder: Holder | None) -> _Eviction | None:
        """What has to go for so many bytes more; raises ShardMemoryExceeded."""
        used = self._used()
        if more <= 0 or used + more <= self._budget.high:
            return None
        # What nobody waits for takes no room from versions that have weight.
        spare = holder is not None and not holder.demanded
        eviction = self._planned(used + more - self._budget.high, spare)
        over = used + more - self._budget.limit
        if eviction is None and over > 0:
            eviction = self._planned(over, spare)
            if eviction is None:
                raise self._exceeded(more, over)
        return eviction

    def _used(self) -> int:
        """Bytes in use: what is accounted, or what the device reports where that is far more."""
        reported = self._memory.reported - self._budget.margin
        return max(self._table.accounted, reported)

    def _planned(self, needed: int, spare_preferred: bool = False) -> _Eviction | None:
        """Plan, and mark what goes, so that nobody takes it meanwhile."""
        if needed <= 0:
            return None
        found = self._plan(needed, self._budget.minimum_residency, spare_preferred)
        if found is None:
            return None
        plan, by_key = found
        residents = tuple(by_key[key] for key in plan.residents)
        for resident in residents:
            resident.state = ResidentState.LEAVING
        for name in plan.holders:
            holder = self._table.holder(name)
            if holder is not None:
                holder.leaving = True
        return _Eviction(residents, plan.holders)

    def _plan(
        self, needed: int, minimum_residency: float, spare_preferred: bool = False
    ) -> tuple[EvictionPlan, dict[str, Resident]] | None:
        candidates = self._table.candidates()
        plan = eviction_plan(
            [candidate for candidate, _ in candidates.values()],
            self._table.holdings(),
            needed,
            now=self._clock(),
            minimum_residency=minimum_residency,
            spare_preferred=spare_preferred,
        )
        if plan is None:
            return None
        return plan, {key: resident for key, (_, resident) in candidates.items()}

    def _exceeded(self, more: int, over: int) -> ShardMemoryExceeded:
        limit = self._budget.limit
        if more > limit:
            return ShardMemoryExceeded(
                f"{more:,} bytes never fit into the limit of {limit:,} bytes for shards"
            )
        young = self._plan(over, 0.0)
        # Time makes room where only the minimum residency protects something, else leases' ends.
        wait = self._budget.minimum_residency if young is not None else LEASES_END_SECONDS
        return ShardMemoryExceeded(
            f"{more:,} bytes do not fit beside what is in use:"
            f" {self._used():,} of {limit:,} bytes for shards",
            retry_after=wait,
        )

    def _evicted(self, eviction: _Eviction) -> int:
        """Have the holders let go, drop the residents, and measure; bytes that were accounted."""
        began, before = self._clock(), self._memory.meter()
        failure: Exception | None = None
        for name in eviction.holders:
            holder = self._table.holder(name)
            try:
                if holder is not None:
                    holder.evict()
            except Exception as error:  # noqa: BLE001 - whatever the owner's is, there is no room
                failure = error
        with self._changed:
            gone = [item for item in eviction.residents if not item.holders]
            freed = sum(item.size for item in gone)
            self.drop(gone)
            kept = self._spared(eviction)
            self._counters.unload_seconds += self._clock() - began
            self._changed.notify_all()
        self.reclaimed(before)
        if kept:
            raise ShardMemoryExceeded(
                f"{', '.join(kept)} did not let go of its shards", retry_after=LEASES_END_SECONDS
            ) from failure
        return freed

    def _spared(self, eviction: _Eviction) -> list[str]:
        """Take back the marks of what was not let go of; returns those who did not."""
        for resident in eviction.residents:
            if resident.holders:
                resident.state = ResidentState.RESIDENT
        kept = [name for name in eviction.holders if self._table.holder(name) is not None]
        for name in kept:
            holder = self._table.holder(name)
            if holder is not None:
                holder.leaving = False
        return kept
