"""What a worker's shards take, and what was done with them, as metrics."""

from dataclasses import fields

from prometheus_client import REGISTRY

from models_registry.shards.stats import ShardCounters
from monitoring import observer
from monitoring.observer import MetricsObserver
from tests.models_registry.shards.shard_device import Device


def value(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


def test_gauges_show_what_is_held_at_a_beat() -> None:
    device = Device(limit=100)
    device.hold("a")
    device.manager.reserve("a", {"x": 10, "y": 20})
    device.load("a", "x", 10)
    device.used += 12

    MetricsObserver().shards_counted(device.manager.stats())

    assert value("voicehost_shard_limit_bytes") == 100
    assert value("voicehost_shard_accounted_bytes") == 30
    assert value("voicehost_shard_reserved_bytes") == 20
    assert value("voicehost_shard_device_bytes") == 12
    assert value("voicehost_shard_residents") == 1


def test_counters_grow_by_what_happened_since_the_last_beat() -> None:
    device = Device(limit=100)
    told = MetricsObserver()
    loads = value("voicehost_shard_events_total", event="load")
    loaded = value("voicehost_shard_bytes_total", event="loaded")
    device.hold("a")
    for _ in range(2):
        device.load("a", "x", 10)
        told.shards_counted(device.manager.stats())
    device.load("a", "y", 30)
    told.shards_counted(device.manager.stats())

    assert value("voicehost_shard_events_total", event="load") == loads + 2
    assert value("voicehost_shard_bytes_total", event="loaded") == loaded + 40


def test_every_counter_of_a_manager_is_a_metric() -> None:
    shown = {field for events in observer._SHARD_COUNTERS.values() for field in events.values()}
    assert shown == {field.name for field in fields(ShardCounters)}
