"""The shards of one device: built once, shared, leased, and evicted within a budget of bytes."""

import threading
import time
import traceback
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import TypeVar, cast

from models_registry.errors import ShardMemoryExceeded
from models_registry.shards.admission import Admission, Memory
from models_registry.shards.budget import ShardBudget
from models_registry.shards.resident import (
    Evict,
    Holder,
    Resident,
    ResidentKey,
    ResidentState,
    ResidentTable,
)
from models_registry.shards.stats import HeldResident, ShardCounters, ShardStats

T = TypeVar("T")


class ShardManager:
    """Residents by what they are made of, for all versions and profiles on one device.

    Every method may be called from any thread; only `resident`, `account`, `shrink` and
    `retain` may take long, since they build and evict. `meter` tells the bytes that the
    device has in use; `reclaim` makes the system take back what was freed.
    """

    def __init__(
        self,
        budget: ShardBudget,
        meter: Callable[[], int],
        *,
        reclaim: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._budget = budget
        self._clock = clock
        self._memory = Memory(meter, reclaim, baseline=meter())
        self._table = ResidentTable()
        self._recipes: dict[str, dict[ResidentKey, int]] = {}
        self._sizes: dict[ResidentKey, int] = {}
        self._counters = ShardCounters()
        self._changed = threading.Condition()
        self._admission = Admission(
            budget, self._memory, self._table, self._counters, self._changed, clock
        )

    # Holders and their leases.

    def hold(
        self, name: str, evict: Evict, *, preferred: bool = True, demanded: bool = True
    ) -> None:
        """A new holder, busy until it is settled; raises ValueError where its name is taken.

        `preferred`: a route gives its version weight. `demanded`: requests wait for it; without
        them it makes room only by what has no weight.
        """
        with self._changed:
            self._table.holder_add(Holder(name, evict, preferred, demanded, self._clock()))

    def reserve(self, name: str, shards: Mapping[str, int]) -> None:
        """Make room for all that a holder is going to build, before it builds anything.

        `shards` are the bytes of its version's shards by sha256: of those of which nothing is
        resident so many are reserved, or what the same holder needed when it was settled last.
        Raises ShardMemoryExceeded, having evicted nothing.
        """
        with self._changed:
            recipe = self._recipes.get(name)
            if recipe is None:
                size = self._table.missing(shards)
            else:
                size = sum(size for key, size in recipe.items() if key not in self._table)
        self._admission.reserve(name, size)

    def settle(self, name: str) -> None:
        """The holder has all that it needs: from now on it is idle without leases."""
        with self._changed:
            holder = self._table.holder(name)
            if holder is not None:
                holder.settled, holder.used_at = True, self._clock()
                self._table.reserve(holder, 0)
                self._recipes[name] = {item.key: item.size for item in self._table.held(name)}

    def prefer(self, name: str, preferred: bool) -> None:
        """Whether a route gives the holder's version weight."""
        with self._changed:
            holder = self._table.holder(name)
            if holder is not None:
                holder.preferred = preferred

    def lease(self, name: str) -> bool:
        """Keep what the holder holds for a request; False where it is gone or about to go."""
        with self._changed:
            holder = self._table.holder(name)
            if holder is None or holder.leaving:
                return False
            holder.leases += 1
            holder.demanded = True
            holder.used_at = self._clock()
            return True

    def release(self, name: str) -> None:
        """The request is over; nothing where the holder is gone."""
        with self._changed:
            holder = self._table.holder(name)
            if holder is not None and holder.leases > 0:
                holder.leases -= 1
                holder.used_at = self._clock()

    def let_go(self, name: str) -> None:
        """The holder is closed: what nobody holds stays until its bytes are needed."""
        with self._changed:
            now = self._clock()
            for resident in self._table.held(name):
                resident.used_at = now
            owned = self._table.holder_remove(name)
            self._admission.drop([item for item in owned if item.state is ResidentState.RESIDENT])
            self._changed.notify_all()

    # Residents.

    def resident(
        self,
        holder: str,
        key: ResidentKey,
        build: Callable[[], T],
        *,
        expected: int,
        measure: Callable[[T], int] | None = None,
    ) -> T:
        """The resident of that key, built once: others wait for the first to build it.

        `expected` bytes are reserved before `build` runs, those of the last time where it
        was built before; `measure` tells what the value takes (by the device's report where
        it is None, which other threads may blur). When `build` raises, nothing is kept and
        the next caller tries again. Raises what it raises, ShardMemoryExceeded, and
        ValueError for a holder that is not there.
        """
        while True:
            with self._changed:
                if self._table.holder(holder) is None:
                    raise ValueError(f"there is no holder named {holder}")
                found = self._table.get(key)
                if found is None:
                    mine = self._table.add(key)
                    break
                if found.state is ResidentState.RESIDENT:
                    found.holders.add(holder)
                    found.used_at = self._clock()
                    self._counters.hits += 1
                    # The key names what `build` makes: every caller's T is the same.
                    return cast(T, found.value)
                self._changed.wait()
        return self._built(holder, mine, build, expected, measure)

    def account(self, holder: str, name: str, size: int) -> None:
        """Count bytes that are the holder's alone (caches, buffers); they go when it does.

        Raises ShardMemoryExceeded.
        """
        key = ResidentKey((), name, owner=holder)
        self.resident(holder, key, lambda: None, expected=size, measure=lambda _: size)

    def shrink(self) -> int:
        """Evict down to the high water, as far as there is what nobody needs; bytes freed.

        For what a device reports beyond what was accounted; called now and then.
        """
        return self._admission.shrink()

    def retain(self, digests: Collection[str]) -> int:
        """Drop what nobody holds and is not made of these shards; bytes freed."""
        before = self._memory.meter()
        with self._changed:
            unneeded = self._table.unneeded(digests)
            freed = sum(item.size for item in unneeded)
            self._admission.drop(unneeded)
            kept = set(digests)
            self._sizes = {
                key: size for key, size in self._sizes.items() if kept.issuperset(key.digests)
            }
            self._recipes = {
                name: recipe
                for name, recipe in self._recipes.items()
                if all(kept.issuperset(key.digests) for key in recipe)
            }
        if unneeded:
            self._admission.reclaimed(before)
        return freed

    def stats(self) -> ShardStats:
        """What is held, and what was done."""
        with self._changed:
            now = self._clock()
            return ShardStats(
                limit=self._budget.limit,
                high=self._budget.high,
                accounted=self._table.accounted,
                reserved=self._table.reserved,
                peak=self._admission.peak,
                reported=self._memory.reported,
                counters=replace(self._counters),
                residents=tuple(
                    self._held(item, now)
                    for item in self._table
                    if item.state is ResidentState.RESIDENT
                ),
            )

    def _built(
        self,
        holder: str,
        mine: Resident,
        build: Callable[[], T],
        expected: int,
        measure: Callable[[T], int] | None,
    ) -> T:
        began, before = self._clock(), self._memory.meter()
        try:
            self._admission.admit(mine, self._sizes.get(mine.key, expected), holder)
            began, before = self._clock(), self._memory.meter()
            value = build()
            size = measure(value) if measure is not None else max(0, self._memory.meter() - before)
            self._admission.admit(mine, size, holder)
        except BaseException as error:
            # The locals of what failed would keep half of what it built.
            traceback.clear_frames(error.__traceback__)
            self._failed(mine, refused=isinstance(error, ShardMemoryExceeded))
            raise
        with self._changed:
            now = self._clock()
            mine.value, mine.state = value, ResidentState.RESIDENT
            mine.loaded_at = mine.used_at = now
            mine.reload_seconds = now - began
            if self._table.holder(holder) is not None:
                mine.holders.add(holder)
            elif mine.key.owner:
                self._admission.drop([mine])
            self._sizes[mine.key] = size
            self._counters.loads += 1
            self._counters.loaded_bytes += size
            self._counters.load_seconds += now - began
            self._changed.notify_all()
        return value

    def _failed(self, mine: Resident, *, refused: bool) -> None:
        before = self._memory.meter()
        with self._changed:
            self._table.remove(mine)
            self._counters.refused += refused
            self._counters.failed_loads += not refused
            self._changed.notify_all()
        self._admission.reclaimed(before)

    def _held(self, resident: Resident, now: float) -> HeldResident:
        holders = [self._table.holder(name) for name in sorted(resident.holders)]
        return HeldResident(
            name=str(resident.key),
            digests=resident.key.digests,
            size=resident.size,
            holders=tuple(sorted(resident.holders)),
            leases=sum(holder.leases for holder in holders if holder is not None),
            idle_seconds=now - resident.used_at,
        )
