"""The configuration epoch: one value in Redis that changes with every change of configuration.

The database holds the configuration; the epoch says that it changed. Processes
keep what they read for as long as the epoch stays the same, and look at it at
least twice a second, so a change is in force everywhere within one second
without any message having to arrive.
"""

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, TypeVar, cast

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.db import transaction

from coordination.connection import redis_async, redis_sync
from coordination.keys import CONFIG_EPOCH

T = TypeVar("T")
CONFIG_GROUP = "voicehost.config"
EPOCH_MAX_AGE = 0.4
ENTRY_MAX_AGE = 30.0


def epoch_bump() -> None:
    """Announce a change of configuration, once the running transaction has committed.

    The change is made by then: a Redis that is down is logged, not raised, and
    processes see the change when what they hold is 30 s old.
    """
    transaction.on_commit(_epoch_bump_now, robust=True)


def _epoch_bump_now() -> None:
    # A random value, not a counter: after a loss of Redis a counter could come
    # back to a number that some process still holds.
    redis_sync().set(CONFIG_EPOCH, secrets.token_hex(8))
    layer = get_channel_layer()
    if layer is not None:
        # A hint only; whoever misses it reads the epoch soon enough.
        async_to_sync(layer.group_send)(CONFIG_GROUP, {"type": "config.changed"})


async def epoch_read() -> str:
    """The current epoch; one is made where there is none yet."""
    client = redis_async()
    value = await client.get(CONFIG_EPOCH)
    if value is None:
        await client.set(CONFIG_EPOCH, secrets.token_hex(8), nx=True)
        value = await client.get(CONFIG_EPOCH)
    return (value or b"").decode()


class ConfigCache:
    """Values read from the database, kept for one epoch and at most 30 s.

    One instance serves one process; it belongs to one event loop at a time.
    """

    def __init__(
        self,
        *,
        read_epoch: Callable[[], Awaitable[str]] = epoch_read,
        clock: Callable[[], float] = time.monotonic,
        max_entries: int = 10_000,
    ) -> None:
        self._read_epoch = read_epoch
        self._clock = clock
        self._max_entries = max_entries
        self._epoch = ""
        self._read_at = float("-inf")
        self._entries: dict[Hashable, tuple[str, float, Any]] = {}
        self._loads: dict[tuple[str, Hashable], asyncio.Task[Any]] = {}

    def observe(self, epoch: str) -> None:
        """Take the epoch that another call to Redis (the limiter's) returned."""
        self._read_at = self._clock()
        if epoch != self._epoch:
            self._epoch = epoch
            self._entries.clear()

    async def epoch(self) -> str:
        """The epoch, read again when it was last seen more than 0.4 s ago."""
        if self._clock() - self._read_at > EPOCH_MAX_AGE:
            self.observe(await self._read_epoch())
        return self._epoch

    async def refresh(self) -> None:
        """Read the epoch now, however lately it was seen."""
        self.observe(await self._read_epoch())

    async def get(self, key: Hashable, load: Callable[[], Awaitable[T]]) -> T:
        """The value of `key` for the current epoch, loaded when it is not there."""
        epoch = await self.epoch()
        found = self._entries.get(key)
        if found is not None and found[0] == epoch and self._clock() - found[1] < ENTRY_MAX_AGE:
            return cast("T", found[2])
        return cast("T", await self._load_once(epoch, key, load))

    async def _load_once(self, epoch: str, key: Hashable, load: Callable[[], Awaitable[T]]) -> T:
        """Load under the epoch seen before: one load for all who ask meanwhile.

        A change that comes during the load has another epoch, so the entry is
        not used again. The load is a task of its own: whoever asked first may be
        cancelled without failing the others.
        """
        task = self._loads.get((epoch, key))
        if task is None:
            task = asyncio.ensure_future(self._store(epoch, key, load))
            self._loads[epoch, key] = task
            task.add_done_callback(lambda done: self._loaded((epoch, key), done))
        return cast("T", await asyncio.shield(task))

    async def _store(self, epoch: str, key: Hashable, load: Callable[[], Awaitable[T]]) -> T:
        value = await load()
        if len(self._entries) >= self._max_entries:
            self._entries.clear()
        self._entries[key] = (epoch, self._clock(), value)
        return value

    def _loaded(self, flight: tuple[str, Hashable], task: "asyncio.Task[Any]") -> None:
        self._loads.pop(flight, None)
        if not task.cancelled():
            # Seen here, so that a failure whose askers have all gone is not reported as lost.
            task.exception()
