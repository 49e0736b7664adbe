"""A worker whose memory does not hold all versions: cold ones, evictions, who waits for them."""

import asyncio
from concurrent.futures import Future
from typing import cast

import pytest

from tests.redis_server import eventually
from tests.tts.consumers.engines_bench import Bench, running
from tts.consumers.worker.loading import EngineKey, NoRoom, Version
from tts.engine.config import BatchingConfig
from tts.engine.request import Profile
from tts.engines.base import SpeechEngine

REALTIME = Profile.REALTIME


class TightLoader:
    """Put into a bench: loads `room` engines, and evicts the first idle one for a demanded one."""

    def __init__(self, bench: Bench, room: int) -> None:
        self.bench = bench
        self.room = room
        self.held: list[EngineKey] = []
        self.loads: list[tuple[str, bool]] = []
        bench.loader.load = self.load  # type: ignore[method-assign]
        bench.loader.closed = self.closed  # type: ignore[method-assign]

    def load(self, version: Version, profile: Profile, *, demanded: bool) -> SpeechEngine:
        self.loads.append((version.key, demanded))
        idle = [key for key in self.held if not self.bench.loader.leases[key]]
        if len(self.held) >= self.room:
            if not demanded or not idle:
                raise NoRoom(f"no memory for {version.key}", retry_after=2.0)
            self.bench.loader.leaving.add(idle[0])
            self.bench.loader.evict(idle[0])
        self.held.append((version.key, profile))
        return cast("SpeechEngine", object())

    def closed(self, key: EngineKey) -> None:
        if key in self.held:
            self.held.remove(key)
        self.bench.loader.leaving.discard(key)


async def test_what_does_not_fit_is_cold_until_it_is_asked_for() -> None:
    bench = Bench("a@1", "b@1")
    TightLoader(bench, room=1)
    async with running(bench):
        assert bench.engines.ready_versions == ("a@1",)
        assert bench.engines.cold_versions == ("b@1",)
        assert bench.engines.failures == {}

        assert not bench.engines.lease("b@1", REALTIME)
        await eventually(lambda: ("b@1", REALTIME) in bench.listener.ready)

        assert bench.engines.ready_versions == ("b@1",)
        assert bench.engines.cold_versions == ("a@1",)
        assert set(bench.core.engines) == {("b@1", REALTIME)}
        assert bench.engines.lease("b@1", REALTIME)


async def test_a_request_that_finds_no_room_is_told_when_to_come_again() -> None:
    bench = Bench("a@1", "b@1")
    TightLoader(bench, room=1)
    async with running(bench):
        assert bench.engines.lease("a@1", REALTIME)
        bench.listener.failed.clear()

        assert not bench.engines.lease("b@1", REALTIME)
        await eventually(lambda: bench.listener.failed)

        assert bench.listener.failed == [("b@1", REALTIME, "no memory for b@1")]
        bench.engines.release("a@1", REALTIME)
        assert not bench.engines.lease("b@1", REALTIME)  # nothing was remembered against it
        await eventually(lambda: ("b@1", REALTIME) in bench.listener.ready)


async def test_cold_versions_are_loaded_once_there_is_room_the_most_wanted_first() -> None:
    bench = Bench("a@1", "b@1", "c@1")
    loader = TightLoader(bench, room=1)
    async with running(bench):
        assert bench.engines.lease("a@1", REALTIME)
        for version in ("c@1", "c@1", "b@1"):
            bench.engines.lease(version, REALTIME)
        await eventually(lambda: not bench.engines.is_loading)
        loader.room, loader.loads = 2, []

        await bench.change()
        await eventually(lambda: not bench.engines.is_loading)

        assert loader.loads[0] == ("c@1", False)
        assert bench.engines.ready_versions == ("a@1", "c@1")
        assert bench.engines.cold_versions == ("b@1",)


async def test_a_request_that_comes_while_nobody_waits_for_a_load_makes_it_wanted() -> None:
    bench = Bench("a@1")
    loader = TightLoader(bench, room=1)
    async with running(bench):
        shown = asyncio.Event()
        bench.engines._thread._shown = shown.wait  # type: ignore[assignment]
        bench.registry.versions["b@1"] = Version("b@1", BatchingConfig(), None)
        bench.engines.kick()
        await eventually(lambda: bench.engines.loading_versions == ("b@1",))

        assert not bench.engines.lease("b@1", REALTIME)
        shown.set()
        await eventually(lambda: ("b@1", REALTIME) in bench.listener.ready)

        assert [load for load in loader.loads if load[0] == "b@1"] == [
            ("b@1", False),
            ("b@1", True),
        ]


async def test_an_engine_that_is_being_taken_out_is_loaded_again_for_the_next_request() -> None:
    bench = Bench("a@1")
    loader = TightLoader(bench, room=1)
    async with running(bench):
        bench.loader.leaving.add(("a@1", REALTIME))
        loader.held.clear()

        assert not bench.engines.lease("a@1", REALTIME)
        assert bench.engines.ready_versions == ()
        await eventually(lambda: ("a@1", REALTIME) in bench.listener.ready[1:])

        assert bench.engines.lease("a@1", REALTIME)


async def test_an_eviction_whose_engine_is_not_closed_fails_the_load_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tts.consumers.worker.engines.EVICT_SECONDS", 0.01)
    bench = Bench("a@1", "b@1")
    TightLoader(bench, room=1)
    async with running(bench):
        never: Future[None] = Future()
        monkeypatch.setattr(bench.core, "engine_remove", lambda *key: never)

        assert not bench.engines.lease("b@1", REALTIME)
        await eventually(lambda: "b@1" in bench.engines.failures)


async def test_versions_with_weight_are_told_to_the_loader() -> None:
    async with running(Bench("a@1", "b@1")) as bench:
        assert bench.loader.preferred == {"a@1", "b@1"}
        del bench.registry.versions["b@1"]
        await bench.change()
        assert bench.loader.preferred == {"a@1"}
