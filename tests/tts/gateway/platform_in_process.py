"""Gateways and workers in one event loop, over a real Redis: everything but the engines is real."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from typing import cast

import redis.asyncio

from tests.scripted_core import ScriptedCore
from tts.consumers.batching import BatchingConsumer
from tts.consumers.worker.loading import EngineKey, Version
from tts.engine.config import BatchingConfig
from tts.engine.request import Profile
from tts.engines.base import SpeechEngine
from tts.gateway.local import EventSink, SpeechCore
from tts.gateway.redis import RedisGateway


class Registry:
    """What has weight; stands for the database."""

    def __init__(self, *keys: str) -> None:
        self.versions = {key: Version(key, BatchingConfig(), None) for key in keys}
        self.reads = 0
        self.leases = 0

    async def read(self) -> Collection[Version]:
        self.reads += 1
        return tuple(self.versions.values())

    async def count(self, version: str) -> int:
        return self.leases


class InstantLoader:
    """Loads at once, unless `error` is set."""

    def __init__(self) -> None:
        self.error: Exception | None = None
        self.loaded: list[tuple[str, Profile]] = []
        self.retained: frozenset[str] = frozenset()
        self.leases: Counter[EngineKey] = Counter()
        self.leaving: set[EngineKey] = set()
        self.closings: list[EngineKey] = []
        self.preferred: frozenset[str] = frozenset()
        self.evict: Callable[[EngineKey], None] = lambda key: None

    def load(self, version: Version, profile: Profile, *, demanded: bool) -> SpeechEngine:
        if self.error is not None:
            raise self.error
        self.loaded.append((version.key, profile))
        return cast("SpeechEngine", object())

    def retain(self, versions: Collection[str]) -> None:
        self.retained = frozenset(versions)

    def settled(self, key: EngineKey) -> None:
        self.leaving.discard(key)

    def closed(self, key: EngineKey) -> None:
        self.closings.append(key)

    def lease(self, key: EngineKey) -> bool:
        if key in self.leaving:
            return False
        self.leases[key] += 1
        return True

    def release(self, key: EngineKey) -> None:
        self.leases[key] -= 1

    def prefer(self, versions: Collection[str]) -> None:
        self.preferred = frozenset(versions)

    def shrink(self) -> None: ...


class Worker:
    """A running BatchingConsumer with its scripted core."""

    def __init__(
        self,
        worker_id: str,
        client: redis.asyncio.Redis,
        registry: Registry,
        *,
        supervised: bool = False,
    ) -> None:
        self.loader = InstantLoader()
        self.registry = registry
        self._cores: list[ScriptedCore] = []
        self.consumer = BatchingConsumer(
            worker_id, client, self._core_make, self.loader, registry.read, registry.count,
            supervised=supervised,
        )  # fmt: skip
        self.core = self._cores[0]
        self.stop = asyncio.Event()
        self.task = asyncio.create_task(self.consumer.run(self.stop, grace=5.0))

    def _core_make(self, sink: EventSink) -> SpeechCore:
        self._cores.append(ScriptedCore(sink))
        return self._cores[0]

    async def die(self) -> None:
        """End as a killed process does, except that its keys are left to expire."""
        presence = self.consumer._presence
        presence.leave = presence._client.aclose  # type: ignore[method-assign]
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


@asynccontextmanager
async def worker_running(
    worker_id: str, client: redis.asyncio.Redis, registry: Registry, *, supervised: bool = False
) -> AsyncIterator[Worker]:
    """A worker until the block ends."""
    worker = Worker(worker_id, client, registry, supervised=supervised)
    try:
        yield worker
    finally:
        worker.stop.set()
        worker.core.release()
        await asyncio.gather(worker.task, return_exceptions=True)


@asynccontextmanager
async def gateway_running(
    gateway_id: str, client: redis.asyncio.Redis, *, supervised: bool = False
) -> AsyncIterator[RedisGateway]:
    """A gateway until the block ends."""
    gateway = RedisGateway(gateway_id, client, supervised=supervised)
    await gateway.start()
    try:
        yield gateway
    finally:
        await gateway.stop()
