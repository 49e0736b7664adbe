"""Fair shares between tenants: stride scheduling by seconds of audio."""

import heapq
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar


class Owned(Protocol):
    """Something that belongs to a tenant."""

    @property
    def tenant(self) -> str:
        """The tenant it belongs to."""


Item = TypeVar("Item", bound=Owned)


class TenantShares:
    """How much each tenant got, in seconds of audio: its pass; the smallest is served next.

    A tenant that joins starts at the smallest pass of those present, so that it
    neither catches up on its absence nor pays for it. One that leaves ahead of
    the others is remembered until they have caught up, so leaving does not
    forgive what it took.
    """

    def __init__(self) -> None:
        self._passes: dict[str, float] = {}
        self._present: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._passes)

    def join(self, tenant: str) -> None:
        """Count one more request of `tenant`."""
        if not self._present[tenant]:
            floor = self._floor()
            self._passes[tenant] = max(self._passes.get(tenant, floor), floor)
        self._present[tenant] += 1

    def leave(self, tenant: str) -> None:
        """Count one request of `tenant` less."""
        self._present[tenant] -= 1
        if not self._present[tenant]:
            del self._present[tenant]
        floor = self._floor() if self._present else float("inf")
        for other in [t for t in self._passes if t not in self._present]:
            if self._passes[other] <= floor:
                del self._passes[other]

    def charge(self, tenant: str, seconds: float) -> None:
        """Add `seconds` of audio (negative: give back) to what `tenant` got."""
        if tenant in self._passes:
            self._passes[tenant] += seconds

    def passed(self, tenant: str) -> float:
        """What `tenant` got; a stranger has what the least served has."""
        passed = self._passes.get(tenant)
        return self._floor() if passed is None else passed

    def order(self, items: Iterable[Item], cost: Callable[[Item], float]) -> Iterator[Item]:
        """The order in which `items` would be served: fair between tenants, given order within.

        `cost` is what serving an item is expected to charge, in seconds.
        """
        queues: dict[str, deque[Item]] = {}
        for item in items:
            queues.setdefault(item.tenant, deque()).append(item)
        heap = [(self.passed(tenant), turn, tenant) for turn, tenant in enumerate(queues)]
        heapq.heapify(heap)
        turn = len(heap)
        while heap:
            passed, _, tenant = heapq.heappop(heap)
            item = queues[tenant].popleft()
            yield item
            if queues[tenant]:
                # A tie goes to the tenant that was served longer ago.
                heapq.heappush(heap, (passed + cost(item), turn, tenant))
                turn += 1

    def _floor(self) -> float:
        return min(
            (self._passes[tenant] for tenant in self._present if tenant in self._passes),
            default=0.0,
        )
