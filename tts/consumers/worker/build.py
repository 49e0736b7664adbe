"""A worker's parts, made from the installation: registry, engines, core."""

import time
from collections.abc import Callable, Collection, Sequence

import redis.asyncio
import structlog

from models_registry.leases import RouteLeases
from models_registry.selectors import UnreadableVersion, VersionSpec, versions_with_weight
from tts.consumers.batching import BatchingConsumer
from tts.consumers.worker.loading import Version
from tts.engine.config import BatchingConfig, CoreConfig
from tts.engine.core import EngineCore
from tts.engine.errors import VersionUnavailable
from tts.engine.observer import StepStats, WorkerObserver
from tts.engine.request import Profile
from tts.engines.base import Device, SpeechEngine
from tts.engines.registry import engine_create
from tts.engines.shards import LocalShards
from tts.gateway.local import EventSink, SpeechCore

log = structlog.get_logger(__name__)


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


class ShardLoader:
    """Loads engines from the shards that their manifests name.

    The profiles of a version share the objects that are built from its shards.
    All calls come from the loader's thread.
    """

    def __init__(self, device: Device, notify: Callable[[], None]) -> None:
        self._device = device
        self._notify = notify
        self._shards: dict[str, LocalShards] = {}

    def load(self, version: Version, profile: Profile) -> SpeechEngine:
        """Load; raises EngineError."""
        spec = version.source
        if isinstance(spec, UnreadableVersion):
            raise VersionUnavailable(f"the manifest cannot be read: {spec.reason}")
        if not isinstance(spec, VersionSpec):
            raise VersionUnavailable(f"version {version.key} has no manifest")
        numbers = version.numbers.get(profile)
        if numbers is not None:
            log.warning("profile_falls_back", version=version.key, profile=profile, numbers=numbers)
        engine = engine_create(spec.engine)
        engine.load(self._shards_of(spec), self._device, profile, self._notify, numbers)
        return engine

    def retain(self, versions: Collection[str]) -> None:
        """Forget the shards of versions other than these."""
        self._shards = {key: kept for key, kept in self._shards.items() if key in versions}

    def _shards_of(self, spec: VersionSpec) -> LocalShards:
        if spec.key not in self._shards:
            self._shards[spec.key] = LocalShards.of(spec.manifest)
        return self._shards[spec.key]


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
    observers: Sequence[WorkerObserver] = (),
) -> BatchingConsumer:
    """The batching consumer of this process; called on its event loop.

    `lanes` bounds the utterance calls that are computed at the same time;
    `supervised` says whether somebody on this machine announces its death.
    """
    cores: list[EngineCore] = []
    observer = Observers(observers)

    def core_make(sink: EventSink) -> SpeechCore:
        core = EngineCore(CoreConfig(lanes=lanes), sink, observer, time.monotonic)
        cores.append(core)
        return core

    def notify() -> None:
        cores[0].notify()

    loader = ShardLoader(Device(device, threads=lanes), notify)
    leases = RouteLeases(client=lambda: client)
    return BatchingConsumer(
        worker_id,
        client,
        core_make,
        loader,
        versions_read,
        leases.count,
        supervised=supervised,
        counted=observer.requests_counted,
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
