"""Engines of a worker over a registry, a loader and a clock that the test holds."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.redis_server import eventually
from tests.scripted_core import ScriptedCore
from tests.tts.gateway.platform_in_process import InstantLoader, Registry
from tts.consumers.worker.engines import Engines
from tts.engine.errors import EngineError
from tts.engine.request import Profile


class Listener:
    """Counts what it is told."""

    def __init__(self) -> None:
        self.ready: list[tuple[str, Profile]] = []
        self.failed: list[tuple[str, Profile, str]] = []
        self.requests = 0

    def engine_ready(self, version: str, profile: Profile) -> None:
        self.ready.append((version, profile))

    def engine_failed(self, version: str, profile: Profile, error: EngineError) -> None:
        self.failed.append((version, profile, error.message))

    def count(self, version: str) -> int:
        return self.requests


class Bench:
    """Engines over a registry, a loader and a clock that the test holds."""

    def __init__(self, *keys: str) -> None:
        self.now = 0.0
        self.core = ScriptedCore(lambda events: None)
        self.registry = Registry(*keys)
        self.loader = InstantLoader()
        self.listener = Listener()
        self.shows: list[bool] = []
        self.engines = Engines(
            self.core,
            self.loader,
            self.registry.read,
            self.registry.count,
            changed=lambda: None,
            shown=self._shown,
            clock=lambda: self.now,
        )
        self.engines.listener = self.listener

    async def _shown(self) -> None:
        self.shows.append(self.engines.is_loading)

    async def change(self) -> None:
        """Let the engines read the registry again."""
        before = self.registry.reads
        self.engines.kick()
        await eventually(lambda: self.registry.reads > before)
        await asyncio.sleep(0.01)


@asynccontextmanager
async def running(bench: Bench) -> AsyncIterator[Bench]:
    task = asyncio.create_task(bench.engines.run())
    try:
        await eventually(lambda: bench.engines.reconciled and not bench.engines.is_loading)
        yield bench
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
