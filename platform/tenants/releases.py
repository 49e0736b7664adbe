"""Slots that are freed once Redis answers again, since nobody knows whether they are taken.

A command whose answer did not come in time may have been carried out, or be
carried out when Redis goes on. Its request has failed: nobody renews or settles it.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from tenants.errors import LimiterUnavailable
from tenants.reservation import LEASE_SECONDS, LimitScope

RETRY_SECONDS = 0.5
LOOKS = 2
"""How often a slot must not be found: the command may come in after the first look."""
MAX_WAITING = 10_000
"""Beyond these the oldest are left to expire."""

Scopes = tuple[LimitScope, LimitScope]
Settle = Callable[[Scopes, str, int], Awaitable[bool]]


@dataclass(slots=True)
class _Release:
    scopes: Scopes
    unused: int
    ends: float
    looks: int = field(default=LOOKS)


class Releases:
    """Calls `settle` for each slot until Redis has answered; one after the other, in one task.

    `settle` frees a lease, or a taking for a running request, and gives its unused characters
    back; it returns whether it was held, and raises LimiterUnavailable. A slot is given
    up LEASE_SECONDS after it was added, when its lease has ended. `clock` gives seconds.
    """

    def __init__(self, settle: Settle, clock: Callable[[], float] = time.monotonic) -> None:
        self._settle = settle
        self._clock = clock
        self._waiting: dict[str, _Release] = {}
        self._task: asyncio.Task[None] | None = None

    def add(self, scopes: Scopes, lease: str, unused: int) -> None:
        """Free a lease when that is possible, with `unused` characters."""
        self._waiting[lease] = _Release(scopes, unused, self._clock() + LEASE_SECONDS)
        if len(self._waiting) > MAX_WAITING:
            del self._waiting[next(iter(self._waiting))]
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run(), name="limit-releases")

    async def aclose(self) -> None:
        """Give up what is left: leases expire by themselves."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        while self._waiting:
            for lease, release in list(self._waiting.items()):
                if self._clock() >= release.ends:
                    self._forget(lease, release)
                    continue
                try:
                    held = await self._settle(release.scopes, lease, release.unused)
                except LimiterUnavailable:
                    # Of this one or of all: the others have their turn, but not all at once.
                    await asyncio.sleep(RETRY_SECONDS)
                    continue
                release.looks -= 1
                if held or release.looks == 0:
                    self._forget(lease, release)
            await asyncio.sleep(RETRY_SECONDS)

    def _forget(self, lease: str, release: _Release) -> None:
        if self._waiting.get(lease) is release:
            del self._waiting[lease]
