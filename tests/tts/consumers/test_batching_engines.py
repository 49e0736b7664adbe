"""A worker's engines follow the versions that have weight."""

import pytest

from tests.redis_server import eventually
from tests.tts.consumers.engines_bench import Bench, running
from tts.consumers.worker import retirement as module
from tts.consumers.worker.failures import RETRY_FIRST
from tts.consumers.worker.loading import Version
from tts.engine.config import BatchingConfig
from tts.engine.errors import VersionUnavailable
from tts.engine.request import Profile


async def test_versions_with_weight_are_loaded_for_the_realtime_profile() -> None:
    async with running(Bench("a@1", "b@1")) as bench:
        assert bench.engines.ready_versions == ("a@1", "b@1")
        assert set(bench.core.engines) == {("a@1", Profile.REALTIME), ("b@1", Profile.REALTIME)}
        assert bench.shows == [True, True]


async def test_another_profile_is_loaded_when_it_is_first_asked_for() -> None:
    async with running(Bench("a@1")) as bench:
        assert bench.engines.lease("a@1", Profile.REALTIME)
        assert not bench.engines.lease("a@1", Profile.HQ)
        assert not bench.engines.lease("a@1", Profile.HQ)
        await eventually(lambda: bench.engines.lease("a@1", Profile.HQ))
        assert bench.loader.loaded.count(("a@1", Profile.HQ)) == 1
        assert bench.listener.ready[-1] == ("a@1", Profile.HQ)


async def test_changed_batching_is_put_in_force() -> None:
    async with running(Bench("a@1")) as bench:
        bench.registry.versions["a@1"] = Version("a@1", BatchingConfig(max_slots=3, max_batch=2), 0)
        await bench.change()
        assert bench.core.engines["a@1", Profile.REALTIME].max_slots == 3


async def test_a_version_given_weight_a_moment_ago_is_found_by_the_request_for_it() -> None:
    async with running(Bench("a@1")) as bench:
        bench.registry.versions["b@1"] = Version("b@1", BatchingConfig(), None)
        assert not bench.engines.lease("b@1", Profile.REALTIME)
        await eventually(lambda: ("b@1", Profile.REALTIME) in bench.listener.ready)


async def test_a_version_without_weight_is_refused() -> None:
    async with running(Bench("a@1")) as bench:
        assert not bench.engines.lease("other@1", Profile.REALTIME)
        await eventually(lambda: bench.listener.failed)
        assert bench.listener.failed[0][0] == "other@1"


async def test_a_failed_load_is_told_and_tried_again() -> None:
    bench = Bench("a@1")
    bench.loader.error = ValueError("the header is cut off")
    async with running(bench):
        assert bench.engines.failures == {"a@1": "ValueError: the header is cut off"}
        with pytest.raises(VersionUnavailable, match="version a@1 could not be loaded"):
            bench.engines.lease("a@1", Profile.REALTIME)
        assert bench.listener.failed == [
            ("a@1", Profile.REALTIME, "version a@1 could not be loaded")
        ]
        bench.loader.error = None
        await bench.change()
        assert bench.engines.ready_versions == ()
        bench.now = RETRY_FIRST
        await bench.change()
        await eventually(lambda: bench.engines.ready_versions == ("a@1",))
        assert bench.engines.failures == {}


async def test_a_failed_load_leaves_the_others_alone() -> None:
    async with running(Bench("a@1")) as bench:
        bench.loader.error = VersionUnavailable("no such shard")
        bench.registry.versions["b@1"] = Version("b@1", BatchingConfig(), None)
        await bench.change()
        await eventually(lambda: bench.engines.failures)
        assert bench.engines.ready_versions == ("a@1",)


async def test_a_version_without_weight_is_unloaded_when_nothing_needs_it() -> None:
    async with running(Bench("a@1", "b@1")) as bench:
        del bench.registry.versions["b@1"]
        bench.listener.requests = 1
        await bench.change()
        bench.now += 10.0
        await bench.change()
        assert bench.engines.ready_versions == ("a@1", "b@1")
        bench.listener.requests = 0
        bench.registry.leases = 1
        bench.now += 10.0
        await bench.change()
        assert bench.engines.ready_versions == ("a@1", "b@1")
        bench.registry.leases = 0
        bench.now += module.RETIRE_SECONDS
        await bench.change()
        await eventually(lambda: bench.core.removed == ["b@1"])
        await eventually(lambda: bench.loader.retained == frozenset({"a@1"}))
        assert list(bench.engines.ready_versions) == ["a@1"]


async def test_a_version_that_gets_its_weight_back_stays() -> None:
    async with running(Bench("a@1", "b@1")) as bench:
        version = bench.registry.versions.pop("b@1")
        await bench.change()
        bench.registry.versions["b@1"] = version
        await bench.change()
        bench.now += 10.0
        await bench.change()
        assert bench.core.removed == []
        assert bench.engines.ready_versions == ("a@1", "b@1")


async def test_other_numbers_are_loaded_once_nothing_speaks() -> None:
    async with running(Bench("a@1")) as bench:
        numbers = {Profile.REALTIME: Profile.STANDARD}
        bench.registry.versions["a@1"] = Version("a@1", BatchingConfig(), None, numbers)
        bench.listener.requests = 1
        await bench.change()
        bench.now += 10.0
        await bench.change()
        assert bench.core.removed == []
        bench.listener.requests = 0
        bench.now += module.RETIRE_SECONDS
        await bench.change()
        await eventually(lambda: bench.core.removed == ["a@1"])
        await eventually(lambda: bench.loader.loaded.count(("a@1", Profile.REALTIME)) == 2)
        bench.now += 10.0
        await bench.change()
        await bench.change()
        assert bench.core.removed == ["a@1"]
        assert bench.engines.ready_versions == ("a@1",)
