"""The engines of a worker: loaded by weight and by demand, unloaded with the routes."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection
from concurrent.futures import ThreadPoolExecutor

import structlog

from tts.consumers.worker.failures import EngineKey, Failures, Pause
from tts.consumers.worker.loading import EngineListener, EngineLoader, Version
from tts.engine.errors import EngineError, VersionUnavailable
from tts.engine.request import Profile
from tts.engines.base import SpeechEngine
from tts.gateway.local import SpeechCore

log = structlog.get_logger(__name__)

BOOT_PROFILE = Profile.REALTIME
RECONCILE_SECONDS = 30.0
"""Versions are read again at least this often, also without a sign of change."""
RETIRE_SECONDS = 2.0
"""A version without weight serves for this long after its last request: routes reach
every process within a second."""
RETIRE_CHECK_SECONDS = 0.5
RETRY_AFTER_REMOVAL = 5.0


class Engines:
    """Keeps the core's engines in step with the versions that have weight.

    All state belongs to the event loop; loading runs in one thread, one engine
    at a time, so that memory never holds two that are half loaded.
    """

    def __init__(
        self,
        core: SpeechCore,
        loader: EngineLoader,
        read_versions: Callable[[], Awaitable[Collection[Version]]],
        count_leases: Callable[[str], Awaitable[int]],
        *,
        changed: Callable[[], None],
        shown: Callable[[], Awaitable[None]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._core = core
        self._loader = loader
        self._read_versions = read_versions
        self._count_leases = count_leases
        self._changed = changed
        self._shown = shown
        self._clock = clock
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="engine-loader")
        self._versions: dict[str, Version] = {}
        self._loaded: dict[EngineKey, Version] = {}
        self._loading: set[EngineKey] = set()
        self._wanted: set[EngineKey] = set()
        self._failed = Failures(clock)
        self._removing: set[str] = set()
        self._retiring: dict[str, float] = {}
        self._pause = Pause(RECONCILE_SECONDS)
        self._kick = asyncio.Event()
        self._loads: set[asyncio.Task[None]] = set()
        self.listener: EngineListener | None = None
        self.reconciled = False

    @property
    def ready_versions(self) -> tuple[str, ...]:
        """Versions that can be spoken now."""
        return tuple(sorted({version for version, _ in self._loaded}))

    @property
    def loading_versions(self) -> tuple[str, ...]:
        """Versions of which the first engine is being loaded."""
        ready = {version for version, _ in self._loaded}
        return tuple(sorted({version for version, _ in self._loading} - ready))

    @property
    def failures(self) -> dict[str, str]:
        """Versions that cannot be spoken, with the reason."""
        ready = {version for version, _ in self._loaded}
        return {
            version: reason
            for version, reason in self._failed.reasons.items()
            if version not in ready and version in self._versions
        }

    @property
    def is_loading(self) -> bool:
        """Whether the loader's thread is busy."""
        return bool(self._loading)

    def kick(self) -> None:
        """Read the versions again: something changed."""
        self._kick.set()

    def ready(self, version: str, profile: Profile) -> bool:
        """Whether the engine is there; begins to load it otherwise. Raises VersionUnavailable."""
        key = (version, profile)
        if key in self._loaded:
            return True
        failure = self._failed.blocking(key)
        if failure is not None:
            raise failure.error
        if version in self._removing:
            raise VersionUnavailable(
                f"version {version} is being loaded again", retry_after=RETRY_AFTER_REMOVAL
            )
        known = self._versions.get(version)
        if known is not None:
            self._load(known, profile)
        else:
            # It may have been given weight a moment ago.
            self._wanted.add(key)
            self.kick()
        return False

    def broken_remove(self) -> None:
        """Take out what the core gave up, to load it anew after a pause; called every beat."""
        for stats in self._core.stats().engines:
            key = (stats.version, Profile(stats.profile))
            loading = any(version == stats.version for version, _ in self._loading)
            if not stats.broken or key not in self._loaded or loading:
                continue
            reason = "the engine failed several steps in a row"
            log.error("engine_broken", version=key[0], profile=key[1])
            self._failed.add(key, reason)
            self._remove(stats.version)

    def _remove(self, version: str) -> None:
        """Take all engines of a version out; if it has weight they are loaded anew afterwards."""
        for gone in [gone for gone in self._loaded if gone[0] == version]:
            del self._loaded[gone]
        self._removing.add(version)
        task = asyncio.create_task(self._removed(version))
        self._loads.add(task)
        task.add_done_callback(self._loads.discard)

    async def _removed(self, version: str) -> None:
        try:
            await asyncio.wrap_future(self._core.engine_remove(version))
            # What is built from its shards may be what was broken.
            kept = ({key for key, _ in self._loaded} | self._versions.keys()) - {version}
            self._thread.submit(self._loader.retain, frozenset(kept))
        finally:
            self._removing.discard(version)
            self.kick()

    async def run(self) -> None:
        """Follow the versions until cancelled."""
        try:
            while True:
                self._kick.clear()
                try:
                    await self._reconcile()
                    self._pause.succeeded()
                except Exception:
                    # The database or Redis is away: what is loaded goes on speaking.
                    log.exception("versions_reconcile_failed")
                    self._pause.failed()
                await self._wait()
        finally:
            for load in self._loads:
                load.cancel()
            self._thread.shutdown(wait=False, cancel_futures=True)

    async def _wait(self) -> None:
        """Until a change is announced, a retry or a retirement is due, or 30 s have passed."""
        pause = self._pause.seconds
        if self._retiring:
            pause = min(pause, RETIRE_CHECK_SECONDS)
        retry = self._failed.pause(BOOT_PROFILE)
        if retry is not None:
            pause = min(pause, max(0.1, retry))
        try:
            async with asyncio.timeout(pause):
                await self._kick.wait()
        except TimeoutError:
            return

    async def _reconcile(self) -> None:
        wanted, self._wanted = self._wanted, set()
        try:
            versions = {version.key: version for version in await self._read_versions()}
        except BaseException:
            self._wanted |= wanted
            raise
        for key, version in versions.items():
            before = self._versions.get(key)
            if before is not None and before.batching != version.batching:
                log.info("batching_changed", version=key)
                self._core.batching_set(key, version.batching)
        self._versions = versions
        self._failed.keep(versions)
        for version in versions.values():
            self._load(version, BOOT_PROFILE)
        for key_wanted in wanted:
            self._wanted_resolve(*key_wanted)
        await self._retire()
        self.reconciled = True
        self._changed()

    def _wanted_resolve(self, key: str, profile: Profile) -> None:
        version = self._versions.get(key)
        if version is not None:
            self._load(version, profile)
        elif self.listener is not None:
            error = VersionUnavailable(f"no route gives weight to version {key}", retry_after=2.0)
            self.listener.engine_failed(key, profile, error)

    async def _retire(self) -> None:
        """Unload what has no weight, and load anew what has other numbers, once it is idle."""
        now = self._clock()
        leaving = self._leaving()
        for version in leaving:
            busy = self.listener is not None and self.listener.count(version) > 0
            if busy or version not in self._retiring:
                self._retiring[version] = now
            elif now - self._retiring[version] >= RETIRE_SECONDS:
                if await self._count_leases(version):
                    self._retiring[version] = now
                elif self.listener is None or self.listener.count(version) == 0:
                    self._unload(version)
        for version in self._retiring.keys() - leaving:
            del self._retiring[version]

    def _leaving(self) -> set[str]:
        """Versions that are loaded without having weight, or in numbers that are others now."""
        return {
            key
            for (key, _), loaded in self._loaded.items()
            if (version := self._versions.get(key)) is None or version.numbers != loaded.numbers
        }

    def _unload(self, version: str) -> None:
        log.info("version_unloaded", version=version)
        del self._retiring[version]
        self._remove(version)

    def _load(self, version: Version, profile: Profile) -> None:
        key = (version.key, profile)
        if (
            key in self._loaded
            or key in self._loading
            or version.key in self._removing
            or self._failed.blocking(key) is not None
        ):
            return
        self._loading.add(key)
        task = asyncio.create_task(self._load_run(version, profile))
        self._loads.add(task)
        task.add_done_callback(self._loads.discard)

    async def _load_run(self, version: Version, profile: Profile) -> None:
        key = (version.key, profile)
        began = self._clock()
        loop = asyncio.get_running_loop()
        try:
            # Loading may hold the interpreter for a while: the heartbeat says so first.
            await self._shown()
            engine = await loop.run_in_executor(self._thread, self._loader.load, version, profile)
            await self._add(version, profile, engine)
        except EngineError as error:
            self._load_failed(key, error.message, error.retry_after)
        except Exception as error:
            # A manifest or a shard can be wrong in any way; the worker goes on with the others.
            log.exception("engine_load_failed", version=version.key, profile=profile)
            self._load_failed(key, f"{type(error).__name__}: {error}")
        else:
            seconds = round(self._clock() - began, 3)
            log.info("engine_loaded", version=version.key, profile=profile, seconds=seconds)
            self._loaded[key] = version
            self._failed.loaded(key)
            if self.listener is not None:
                self.listener.engine_ready(version.key, profile)
            if version.key not in self._versions:
                self.kick()
        finally:
            self._loading.discard(key)
            self._changed()

    async def _add(self, version: Version, profile: Profile, engine: SpeechEngine) -> None:
        """Give a loaded engine to the core; it is closed if the core does not take it."""
        batching = self._versions.get(version.key, version).batching
        try:
            added = self._core.engine_add(version.key, profile, engine, batching)
            await asyncio.wrap_future(added)
        except Exception:
            self._thread.submit(engine.close)
            raise

    def _load_failed(self, key: EngineKey, reason: str, retry_after: float | None = None) -> None:
        log.warning("engine_unavailable", version=key[0], profile=key[1], error=reason)
        failure = self._failed.add(key, reason, retry_after)
        if self.listener is not None:
            self.listener.engine_failed(*key, failure.error)
        self._kick.set()
