"""Failures at any point of a load or an eviction leave nothing accounted, held or marked."""

import gc
import weakref

import pytest

from models_registry.errors import ShardMemoryExceeded
from models_registry.shards.resident import ResidentKey
from tests.models_registry.shards.shard_device import Device


def test_the_next_one_builds_again_what_failed() -> None:
    device = Device()
    device.hold("a")
    with pytest.raises(OSError, match="torn"):
        device.load("a", "x", build=_failing)
    assert device.manager.stats().accounted == 0

    assert device.load("a", "x") == "built x"
    counters = device.manager.stats().counters
    assert (counters.failed_loads, counters.loads) == (1, 1)


def test_what_a_failed_load_had_built_is_freed_and_measured() -> None:
    class Tensor:
        pass

    device = Device()
    device.hold("a")
    built: list[weakref.ref[Tensor]] = []

    def build() -> str:
        half = Tensor()
        built.append(weakref.ref(half))
        device.used += 50
        device.garbage = 50
        raise OSError("torn")

    with pytest.raises(OSError, match="torn") as failed:
        device.load("a", "x", build=build)

    gc.collect()
    assert failed.value is not None
    assert built[0]() is None
    assert device.manager.stats().counters.freed_bytes == 50


def test_a_value_that_is_larger_than_expected_makes_room_or_is_given_up() -> None:
    device = Device(limit=100)
    device.hold("old", settled=True)
    device.load("old", "x", 40)
    device.hold("new")

    _load_larger(device, measured=80)
    assert device.names == {"large"}

    device.manager.lease("new")
    device.hold("other")
    with pytest.raises(ShardMemoryExceeded):
        _load_larger(device, measured=101, shard="larger", holder="other")
    assert device.names == {"large"}
    assert device.manager.stats().peak <= 100


def test_the_size_of_the_last_time_is_reserved_before_a_reload() -> None:
    device = Device(limit=100)
    device.hold("a", settled=True)
    _load_larger(device, measured=60, holder="a")
    device.manager.let_go("a")
    device.hold("b")
    device.load("b", "x", 80)  # evicts it
    accounted: list[int] = []
    device.manager.let_go("b")
    device.hold("c")

    device.manager.resident(
        "c",
        ResidentKey(("large",), "whole"),
        lambda: accounted.append(device.manager.stats().accounted),
        expected=1,
        measure=lambda _: 60,
    )

    assert accounted == [60]


def test_an_engine_that_does_not_let_go_refuses_the_load_and_stays() -> None:
    device = Device(limit=100)

    def evict() -> None:
        raise RuntimeError("its thread hangs")

    device.manager.hold("stuck", evict)
    device.manager.settle("stuck")
    device.load("stuck", "x", 60)
    device.hold("new")

    with pytest.raises(ShardMemoryExceeded, match="stuck did not let go") as refused:
        device.load("new", "y", 60)

    assert isinstance(refused.value.__cause__, RuntimeError)
    assert device.names == {"x"}
    assert device.manager.lease("stuck")
    assert device.load("new", "x") == "built x"


def test_a_measure_that_fails_is_a_failed_load() -> None:
    device = Device()
    device.hold("a")

    def measure(_: object) -> int:
        raise OSError("the driver is gone")

    with pytest.raises(OSError, match="driver"):
        device.manager.resident(
            "a", ResidentKey(("x",), "whole"), object, expected=5, measure=measure
        )
    assert device.manager.stats().accounted == 0


def test_an_engine_that_went_while_it_loaded_holds_nothing() -> None:
    device = Device(limit=100)
    device.hold("a")

    def build() -> str:
        device.manager.let_go("a")
        return "late"

    device.load("a", "x", 60, build)
    device.hold("b")
    device.load("b", "y", 60)

    assert device.names == {"y"}


def _failing() -> str:
    raise OSError("torn")


def _load_larger(
    device: Device, *, measured: int, shard: str = "large", holder: str = "new"
) -> None:
    device.manager.resident(
        holder,
        ResidentKey((shard,), "whole"),
        lambda: "built",
        expected=10,
        measure=lambda _: measured,
    )
