"""Room for all of an engine is made, or refused, before anything of it is built."""

import pytest

from models_registry.errors import ShardMemoryExceeded
from tests.models_registry.shards.shard_device import Device


def test_what_is_reserved_is_used_by_what_is_built() -> None:
    device = Device(limit=100)
    device.hold("a")
    device.manager.reserve("a", {"x": 30, "y": 40})
    assert device.manager.stats().accounted == 70

    device.load("a", "x", 30)
    device.load("a", "y", 40)

    stats = device.manager.stats()
    assert (stats.accounted, stats.reserved, stats.peak) == (70, 0, 70)


def test_bytes_that_were_not_needed_are_free_once_the_engine_is_loaded() -> None:
    device = Device(limit=100)
    device.hold("a")
    device.manager.reserve("a", {"x": 80})
    device.load("a", "x", 20)

    device.manager.settle("a")

    assert device.manager.stats().accounted == 20


def test_nothing_is_evicted_for_an_engine_that_does_not_fit_whole() -> None:
    device = Device(limit=100)
    device.hold("idle", settled=True)
    device.load("idle", "x", 40)
    device.hold("busy", settled=True)
    device.load("busy", "y", 40)
    device.manager.lease("busy")
    device.hold("new")

    with pytest.raises(ShardMemoryExceeded):
        device.manager.reserve("new", {"p": 40, "q": 40})

    assert device.names == {"x", "y"}


def test_shards_that_are_there_already_need_no_bytes() -> None:
    device = Device(limit=100)
    device.hold("old", settled=True)
    device.load("old", "shared", 60)
    device.load("old", "changed", 10)
    device.hold("new")

    device.manager.reserve("new", {"shared": 60, "changed again": 12})

    assert device.manager.stats().reserved == 12
    assert device.evicted == []


def test_what_an_engine_took_last_time_is_reserved_for_it_again() -> None:
    device = Device(limit=100)
    device.hold("a")
    device.load("a", "x", 15)
    device.manager.account("a", "cache", 20)
    device.manager.settle("a")
    device.manager.let_go("a")
    device.hold("filler")
    device.load("filler", "y", 80)  # evicts it
    device.manager.let_go("filler")

    device.hold("a")
    device.manager.reserve("a", {"x": 50})

    assert device.manager.stats().reserved == 35


def test_what_nobody_waits_for_takes_no_room_from_versions_with_weight() -> None:
    device = Device(limit=100)
    device.hold("live", settled=True)
    device.load("live", "x", 60)
    device.manager.hold("ahead", lambda: None, demanded=False)

    with pytest.raises(ShardMemoryExceeded):
        device.manager.reserve("ahead", {"y": 60})
    device.manager.prefer("live", preferred=False)
    device.manager.reserve("ahead", {"y": 60})

    assert device.evicted == ["live"]


def test_a_reservation_ends_with_its_engine() -> None:
    device = Device(limit=100)
    device.hold("a")
    device.manager.reserve("a", {"x": 60})

    device.manager.let_go("a")

    assert device.manager.stats().accounted == 0
