"""Engines made from the shards that their versions' manifests name, within a worker's memory."""

from collections.abc import Callable, Collection

import structlog

from models_registry.errors import ShardMemoryExceeded
from models_registry.selectors import UnreadableVersion, VersionSpec
from models_registry.shards.manager import ShardManager
from tts.consumers.worker.loading import EngineKey, NoRoom, Version
from tts.engine.errors import VersionUnavailable
from tts.engine.request import Profile
from tts.engines.base import Device, SpeechEngine
from tts.engines.managed_shards import ManagedShards, MemoryShort
from tts.engines.registry import engine_create
from tts.engines.shards import LocalShards, Locate

log = structlog.get_logger(__name__)


class ShardLoader:
    """An `EngineLoader`: engines hold what the manager has built of their shards.

    Versions and profiles with equal shards share it. `notify` is what engines call; `locate`
    finds what is in the store.
    """

    def __init__(
        self,
        device: Device,
        manager: ShardManager,
        notify: Callable[[], None],
        locate: Locate | None = None,
    ) -> None:
        self._device = device
        self._locate = locate
        self._manager = manager
        self._notify = notify
        self._files: dict[str, LocalShards] = {}
        self._preferred: frozenset[str] = frozenset()
        self.evict: Callable[[EngineKey], None] = _nobody

    def load(self, version: Version, profile: Profile, *, demanded: bool) -> SpeechEngine:
        """Load, after room was made for all of it; raises EngineError, NoRoom among them."""
        spec = version.source
        if isinstance(spec, UnreadableVersion):
            raise VersionUnavailable(f"the manifest cannot be read: {spec.reason}")
        if not isinstance(spec, VersionSpec):
            raise VersionUnavailable(f"version {version.key} has no manifest")
        key = (version.key, profile)
        name = _name(key)
        files = self._files_of(spec)
        preferred = version.key in self._preferred
        self._manager.hold(name, lambda: self.evict(key), preferred=preferred, demanded=demanded)
        try:
            self._manager.reserve(name, files.sizes)
            return self._engine(spec, version, profile, ManagedShards(files, self._manager, name))
        except (ShardMemoryExceeded, MemoryShort) as error:
            self._manager.let_go(name)
            raise NoRoom(
                f"there is no memory for version {version.key}: {error.message}",
                retry_after=error.retry_after,
            ) from error
        except BaseException:
            self._manager.let_go(name)
            raise

    def settled(self, key: EngineKey) -> None:
        """The engine is in use."""
        self._manager.settle(_name(key))

    def closed(self, key: EngineKey) -> None:
        """The engine was closed."""
        self._manager.let_go(_name(key))

    def lease(self, key: EngineKey) -> bool:
        """Keep an engine for a request; False where it is about to be taken out."""
        return self._manager.lease(_name(key))

    def release(self, key: EngineKey) -> None:
        """The request is over."""
        self._manager.release(_name(key))

    def prefer(self, versions: Collection[str]) -> None:
        """These versions have weight."""
        self._preferred = frozenset(versions)
        for version in self._files:
            for profile in Profile:
                self._manager.prefer(_name((version, profile)), version in self._preferred)

    def retain(self, versions: Collection[str]) -> None:
        """Forget the shards of versions other than these."""
        self._files = {key: kept for key, kept in self._files.items() if key in versions}
        self._manager.retain({digest for files in self._files.values() for digest in files.sizes})

    def shrink(self) -> None:
        """Make room where the device has more in use than it should."""
        try:
            self._manager.shrink()
        except ShardMemoryExceeded as error:
            log.warning("shards_not_shrunk", reason=error.message)

    def _engine(
        self, spec: VersionSpec, version: Version, profile: Profile, shards: ManagedShards
    ) -> SpeechEngine:
        numbers = version.numbers.get(profile)
        if numbers is not None:
            log.warning("profile_falls_back", version=version.key, profile=profile, numbers=numbers)
        engine = engine_create(spec.engine)
        engine.load(shards, self._device, profile, self._notify, numbers)
        return engine

    def _files_of(self, spec: VersionSpec) -> LocalShards:
        if spec.key not in self._files:
            self._files[spec.key] = LocalShards.of(spec.manifest, self._locate)
        return self._files[spec.key]


def _name(key: EngineKey) -> str:
    return f"{key[0]}/{key[1]}"


def _nobody(key: EngineKey) -> None:
    raise RuntimeError(f"nobody takes engine {key} out")
