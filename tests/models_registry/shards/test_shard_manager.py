"""Shards in memory: built once, shared by what is equal, and evicted for their bytes."""

import pytest

from models_registry.errors import ShardMemoryExceeded
from models_registry.shards.resident import ResidentKey
from tests.models_registry.shards.shard_device import Device


def test_a_shard_is_built_once_for_all_that_need_it() -> None:
    device = Device()
    device.hold("a@1")
    device.hold("a@2")

    first, second = device.load("a@1", "gpt"), device.load("a@2", "gpt")

    assert first is second
    stats = device.manager.stats()
    assert (stats.accounted, stats.counters.loads, stats.counters.hits) == (10, 1, 1)
    assert stats.residents[0].holders == ("a@1", "a@2")


def test_other_transforms_of_a_shard_are_other_residents() -> None:
    device = Device()
    device.hold("a")
    for transform in ("int8", "float32"):
        device.manager.resident(
            "a", ResidentKey(("gpt",), transform), object, expected=1, measure=lambda _: 1
        )

    assert device.manager.stats().counters.loads == 2


def test_what_nobody_holds_stays_until_its_bytes_are_needed() -> None:
    device = Device(limit=100)
    device.hold("old")
    device.load("old", "x", 60)
    device.manager.let_go("old")
    device.hold("new")

    device.load("new", "y", 30)
    assert device.names == {"x", "y"}
    device.load("new", "z", 30)
    assert device.names == {"y", "z"}


def test_eviction_begins_at_the_high_water() -> None:
    device = Device(limit=100)
    for name in ("a", "b"):
        device.hold(name, settled=True)
        device.now += 1
    device.load("a", "x", 50)
    device.hold("c")

    device.load("b", "y", 40)
    assert device.evicted == []
    device.load("c", "z", 1)

    assert device.evicted == ["a"]
    assert device.names == {"y", "z"}


def test_above_the_high_water_it_loads_where_nothing_can_go() -> None:
    device = Device(limit=100)
    device.hold("busy")

    device.load("busy", "x", 95)

    assert device.manager.stats().accounted == 95


def test_a_lease_keeps_what_its_engine_holds() -> None:
    device = Device(limit=100)
    device.hold("leased", settled=True)
    device.load("leased", "x", 60)
    assert device.manager.lease("leased")
    device.hold("new")

    with pytest.raises(ShardMemoryExceeded) as refused:
        device.load("new", "y", 60)
    assert refused.value.retry_after is not None

    device.manager.release("leased")
    device.load("new", "y", 60)
    assert device.names == {"y"}


def test_an_engine_that_is_gone_takes_no_lease() -> None:
    device = Device(limit=100)
    device.hold("old", settled=True)
    device.load("old", "x", 60)
    device.hold("new")
    device.load("new", "y", 60)

    assert not device.manager.lease("old")


def test_no_lease_is_taken_while_an_engine_is_asked_to_go() -> None:
    device = Device(limit=100)
    answers: list[bool] = []

    def evict() -> None:
        answers.append(device.manager.lease("old"))
        device.manager.let_go("old")

    device.manager.hold("old", evict)
    device.manager.settle("old")
    device.load("old", "x", 60)
    device.hold("new")
    device.load("new", "y", 60)

    assert answers == [False]


def test_what_was_loaded_a_moment_ago_is_not_evicted_for_another() -> None:
    device = Device(limit=100, minimum_residency=10.0)
    device.hold("young", settled=True)
    device.load("young", "x", 60)
    device.hold("new")

    with pytest.raises(ShardMemoryExceeded) as refused:
        device.load("new", "y", 60)
    assert refused.value.retry_after == 10.0

    device.now = 10.0
    device.load("new", "y", 60)


def test_what_never_fits_says_so() -> None:
    device = Device(limit=100)
    device.hold("a")

    with pytest.raises(ShardMemoryExceeded, match="101 bytes never fit") as refused:
        device.load("a", "x", 101)

    assert refused.value.retry_after is None


def test_bytes_of_an_engine_alone_go_with_it() -> None:
    device = Device()
    device.hold("a")
    device.manager.account("a", "cache", 30)
    device.load("a", "x", 10)

    device.manager.let_go("a")

    assert device.manager.stats().accounted == 10
    assert device.names == {"x"}


def test_what_the_device_reports_beyond_its_margin_counts() -> None:
    device = Device(limit=100, margin=20)
    device.hold("old", settled=True)
    device.load("old", "x", 40)
    device.used += 120

    assert device.manager.shrink() == 40
    assert device.names == set()


def test_shards_of_retired_versions_are_dropped() -> None:
    device = Device()
    device.hold("a")
    for shard in ("kept", "held", "retired"):
        device.load("a", shard)
    device.manager.let_go("a")
    device.hold("b")
    device.load("b", "held")

    assert device.manager.retain({"kept"}) == 10
    assert device.names == {"kept", "held"}


def test_what_an_unload_freed_is_measured() -> None:
    device = Device()
    device.hold("a")
    device.load("a", "x", 10)
    device.manager.let_go("a")
    device.used += 10
    device.garbage = 7

    device.manager.retain(())

    counters = device.manager.stats().counters
    assert (counters.unloads, counters.unloaded_bytes, counters.freed_bytes) == (1, 10, 7)


def test_unknown_holders_hold_nothing() -> None:
    device = Device()

    with pytest.raises(ValueError, match="no holder named nobody"):
        device.load("nobody", "x")
    assert not device.manager.lease("nobody")
    device.manager.let_go("nobody")
    device.hold("a")
    with pytest.raises(ValueError, match="a holder named a already"):
        device.hold("a")
