"""Keeps what running requests hold alive: one task a process, not one a request."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any

import structlog

from tts.engine.traces import trace_of
from tts.speech.hold import Hold
from tts.speech.ports import RouteLeases

log = structlog.get_logger(__name__)

RENEW_SECONDS = 10.0
_AT_ONCE = 32


class Keeper:
    """Renews every `Hold` it knows each `interval` seconds."""

    def __init__(
        self,
        leases: RouteLeases,
        *,
        interval: float = RENEW_SECONDS,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._leases = leases
        self._interval = interval
        self._sleep = sleep
        self._held: dict[str, Hold] = {}
        self._task: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._held)

    def start(self) -> None:
        """Begin, on the running event loop."""
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="speech-keeper")

    async def stop(self) -> None:
        """End the task; what is still held expires by itself."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    def add(self, hold: Hold) -> None:
        """Renew `hold` from now on."""
        self._held[hold.name] = hold

    def remove(self, hold: Hold) -> None:
        """Renew it no more. Idempotent."""
        self._held.pop(hold.name, None)

    async def release(self, hold: Hold | None, characters_spoken: int) -> None:
        """Give back what a request holds, if it came to hold anything."""
        if hold is not None:
            self.remove(hold)
            await hold.release(characters_spoken)

    async def renew_all(self) -> None:
        """Renew everything once; one that fails does not keep the others from it."""
        holds = tuple(self._held.values())
        by_version: dict[str, list[str]] = defaultdict(list)
        for hold in holds:
            if hold.version is not None:
                by_version[hold.version].append(hold.name)
        await _gather([self._renew_leases(version, names) for version, names in by_version.items()])
        for start in range(0, len(holds), _AT_ONCE):
            await _gather([hold.renew() for hold in holds[start : start + _AT_ONCE]])

    async def _renew_leases(self, version: str, names: list[str]) -> None:
        for name in await self._leases.renew(version, names):
            # Asked again here: the request may have ended since.
            hold = self._held.get(name)
            if hold is not None and hold.version == version:
                await hold.lease_again()

    async def _run(self) -> None:
        while True:
            await self._sleep(self._interval)
            await self.renew_all()


async def _gather(renewals: list[Coroutine[Any, Any, None]]) -> None:
    results = await asyncio.gather(*renewals, return_exceptions=True)
    failed = [result for result in results if isinstance(result, Exception)]
    if failed:
        log.warning("renewal_failed", count=len(failed), trace=trace_of(failed[0]))
