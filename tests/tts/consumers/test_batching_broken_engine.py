"""A worker stops advertising an engine that its core gave up, and loads it again."""

import asyncio
from concurrent.futures import Future
from dataclasses import replace
from typing import cast

import pytest

from tests.redis_server import eventually
from tests.scripted_core import ScriptedCore
from tests.tts.gateway.platform_in_process import InstantLoader, Registry
from tts.consumers.worker.engines import Engines
from tts.consumers.worker.failures import FORGET_SECONDS, RETRY_FIRST, Failures
from tts.consumers.worker.loading import Version
from tts.engine.config import BatchingConfig
from tts.engine.errors import EngineError, VersionUnavailable
from tts.engine.request import Profile
from tts.engine.stats import CoreStats
from tts.engines.base import SpeechEngine

KEY = ("a@1", Profile.REALTIME)


class BreakingCore(ScriptedCore):
    """A core whose engines can break, or that does not take one."""

    def __init__(self) -> None:
        super().__init__(lambda events: None)
        self.broken = False
        self.refuses = False

    def stats(self) -> CoreStats:
        stats = super().stats()
        engines = tuple(replace(engine, broken=self.broken) for engine in stats.engines)
        return replace(stats, engines=engines)

    def engine_add(
        self, version: str, profile: Profile, engine: SpeechEngine, batching: BatchingConfig
    ) -> "Future[None]":
        if not self.refuses:
            return super().engine_add(version, profile, engine, batching)
        refused: Future[None] = Future()
        refused.set_exception(ValueError("the engine is there"))
        return refused


class Engine:
    """Can be closed."""

    def __init__(self) -> None:
        self.closed = False

    def close(self) -> None:
        self.closed = True


class ClosingLoader(InstantLoader):
    """Loads engines that can be closed."""

    def __init__(self) -> None:
        super().__init__()
        self.engine = Engine()

    def load(self, version: Version, profile: Profile, *, demanded: bool) -> SpeechEngine:
        super().load(version, profile, demanded=demanded)
        return cast("SpeechEngine", self.engine)


class Listener:
    """Keeps what failed."""

    def __init__(self) -> None:
        self.failed: list[str] = []

    def engine_ready(self, version: str, profile: Profile) -> None: ...

    def engine_failed(self, version: str, profile: Profile, error: EngineError) -> None:
        self.failed.append(error.message)

    def count(self, version: str) -> int:
        return 0


class Bench:
    """Running engines with one version."""

    def __init__(self, *, refuses: bool = False) -> None:
        self.now = 0.0
        self.core = BreakingCore()
        self.core.refuses = refuses
        self.loader = ClosingLoader()
        self.registry = Registry("a@1")
        self.listener = Listener()
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
        """Nobody looks."""

    async def __aenter__(self) -> "Bench":
        self.task = asyncio.create_task(self.engines.run())
        await eventually(lambda: self.engines.reconciled and not self.engines.is_loading)
        return self

    async def __aexit__(self, *error: object) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


async def test_a_broken_engine_is_failed_and_loaded_again_after_a_pause() -> None:
    async with Bench() as bench:
        bench.engines.broken_remove()
        assert list(bench.engines.ready_versions) == ["a@1"]
        bench.core.broken = True
        bench.engines.broken_remove()
        bench.engines.broken_remove()
        assert not bench.engines.ready_versions
        assert list(bench.engines.failures) == ["a@1"]
        with pytest.raises(VersionUnavailable):
            bench.engines.lease(*KEY)
        await eventually(lambda: bench.core.removed == ["a@1"])
        assert bench.loader.loaded == [KEY]
        bench.core.broken = False
        bench.now = RETRY_FIRST
        bench.engines.kick()
        await eventually(lambda: bool(bench.engines.ready_versions))
        assert bench.loader.loaded == [KEY, KEY]
        assert bench.engines.failures == {}


async def test_an_engine_that_the_core_does_not_take_is_a_failed_load() -> None:
    async with Bench(refuses=True) as bench:
        assert bench.listener.failed == ["version a@1 could not be loaded"]
        assert bench.engines.failures == {"a@1": "ValueError: the engine is there"}
        await eventually(lambda: bench.loader.engine.closed)
        assert not bench.engines.ready_versions


def test_an_engine_that_breaks_soon_after_a_load_waits_longer_each_time() -> None:
    now = 0.0
    failures = Failures(lambda: now)
    delays = []
    for _ in range(6):
        failure = failures.add(KEY, "it broke")
        delays.append(failure.delay)
        now = failure.retry_at
        failures.loaded(KEY)
    assert delays == [5.0, 10.0, 20.0, 40.0, 60.0, 60.0]
    now += FORGET_SECONDS
    assert failures.add(KEY, "it broke").delay == RETRY_FIRST
