"""A worker's parts, made from the installation: registry, engines, core."""

import time
from collections.abc import Sequence

import redis.asyncio
import structlog

from models_registry.leases import RouteLeases
from models_registry.selectors import UnreadableVersion, VersionSpec, versions_with_weight
from models_registry.shards.budget import HIGH_WATER, ShardBudget
from models_registry.shards.manager import ShardManager
from models_registry.shards.stats import ShardStats
from models_registry.storage import shard_store
from tts.consumers.batching import BatchingConsumer
from tts.consumers.worker.loading import Version
from tts.consumers.worker.shard_loader import ShardLoader
from tts.engine.config import BatchingConfig, CoreConfig
from tts.engine.core import EngineCore
from tts.engine.observer import StepStats, WorkerObserver
from tts.engine.request import Profile
from tts.engines.base import Device
from tts.engines.memory import memory_free, memory_reclaim, memory_used
from tts.gateway.local import EventSink, SpeechCore

log = structlog.get_logger(__name__)

SHARD_LIMIT_SHARE = 0.6
"""Of what is free at the start: requests need memory too, and other processes of the machine."""
SHARD_MARGIN_SHARE = 0.05
SHARD_MARGIN_LEAST = 512 * 1024**2
"""Bytes that a device may report beyond those of shards: libraries, and what requests need."""


class Observers:
    """A WorkerObserver that tells several."""

    def __init__(self, observers: Sequence[WorkerObserver]) -> None:
        self._observers = tuple(observers)

    def step_finished(self, stats: StepStats) -> None:
        """Pass it on."""
        for observer in self._observers:
            observer.step_finished(stats)

    def requests_counted(self, waiting: int, active: int) -> None:
        """Pass it on."""
        for observer in self._observers:
            observer.requests_counted(waiting, active)

    def shards_counted(self, stats: ShardStats) -> None:
        """Pass it on."""
        for observer in self._observers:
            observer.shards_counted(stats)


def shard_manager(device: str, *, limit: int = 0, high_water: float = HIGH_WATER) -> ShardManager:
    """Who holds the shards of a worker on its device; raises DeviceUnavailable."""
    limit = limit or int(memory_free(device) * SHARD_LIMIT_SHARE)
    margin = max(SHARD_MARGIN_LEAST, int(limit * SHARD_MARGIN_SHARE))
    log.info("shard_memory", device=device, limit=limit, high_water=high_water)
    return ShardManager(
        ShardBudget(limit, high_water, margin=margin),
        lambda: memory_used(device),
        reclaim=lambda: memory_reclaim(device),
    )


async def versions_read() -> tuple[Version, ...]:
    """The versions with weight; one that cannot be read says so when it is loaded."""
    return tuple(_version(spec) for spec in await versions_with_weight())


def consumer_build(
    worker_id: str,
    client: redis.asyncio.Redis,
    *,
    lanes: int,
    device: str = "cpu",
    supervised: bool = False,
    shard_limit: int = 0,
    shard_high_water: float = HIGH_WATER,
    observers: Sequence[WorkerObserver] = (),
) -> BatchingConsumer:
    """The batching consumer of this process; called on its event loop.

    `lanes` bounds the utterance calls that are computed at the same time;
    `supervised` says whether somebody on this machine announces its death. `shard_limit`
    bounds the bytes of its models on the device (0: a share of what is free now).
    """
    cores: list[EngineCore] = []
    observer = Observers(observers)

    def core_make(sink: EventSink) -> SpeechCore:
        core = EngineCore(CoreConfig(lanes=lanes), sink, observer, time.monotonic)
        cores.append(core)
        return core

    def notify() -> None:
        cores[0].notify()

    manager = shard_manager(device, limit=shard_limit, high_water=shard_high_water)
    loader = ShardLoader(Device(device, threads=lanes), manager, notify, shard_store().local)
    leases = RouteLeases(client=lambda: client)

    def counted(waiting: int, active: int) -> None:
        observer.requests_counted(waiting, active)
        observer.shards_counted(manager.stats())

    return BatchingConsumer(
        worker_id,
        client,
        core_make,
        loader,
        versions_read,
        leases.count,
        supervised=supervised,
        counted=counted,
    )


def _version(spec: VersionSpec | UnreadableVersion) -> Version:
    batching = BatchingConfig(
        max_slots=spec.batching.max_slots,
        max_batch=spec.batching.max_batch,
        max_wait_seconds=spec.batching.max_wait_ms / 1000,
    )
    if isinstance(spec, UnreadableVersion):
        return Version(spec.key, batching, spec)
    numbers = {Profile(profile): Profile(other) for profile, other in spec.numbers.items()}
    return Version(spec.key, batching, spec, numbers)
