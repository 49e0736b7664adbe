"""The engines of a worker: loaded by weight and by demand, unloaded with the routes."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Coroutine

import structlog

from tts.consumers.worker.arrivals import Arrivals
from tts.consumers.worker.engine_loads import EngineLoads
from tts.consumers.worker.engine_table import EngineTable
from tts.consumers.worker.failures import Failures, Pause
from tts.consumers.worker.loader_thread import LoaderThread
from tts.consumers.worker.loading import (
    EngineKey,
    EngineListener,
    EngineLoader,
    Version,
)
from tts.consumers.worker.retirement import RETIRE_CHECK_SECONDS, Retirement
from tts.engine.errors import VersionUnavailable
from tts.engine.request import Profile
from tts.gateway.local import SpeechCore

log = structlog.get_logger(__name__)

BOOT_PROFILE = Profile.REALTIME
RECONCILE_SECONDS = 30.0
"""Versions are read again at least this often, also without a sign of change."""
RETRY_AFTER_REMOVAL = 5.0
EVICT_SECONDS = 10.0
"""The longest wait for an idle engine to be closed for another's sake."""


class Engines:
    """Keeps the core's engines in step with the versions that have weight.

    All state belongs to the event loop; loading runs in one thread, one engine
    at a time, so that memory never holds two that are half loaded. What memory
    has no room for is cold: it is loaded when a request asks for it, or when
    there is room again.
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
        self._changed = changed
        self._loop = asyncio.get_running_loop()
        self._thread = LoaderThread(core, loader, shown)
        self._versions: dict[str, Version] = {}
        self._table = EngineTable()
        self._wanted: set[EngineKey] = set()
        self._failed = Failures(clock)
        self._arrivals = Arrivals(clock)
        self._retirement = Retirement(self._count, count_leases, clock)
        self._pause = Pause(RECONCILE_SECONDS)
        self._kick = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._loads = EngineLoads(
            self._thread,
            self._table,
            self._failed,
            batching=lambda version: self._versions.get(version.key, version).batching,
            kick=self.kick,
            changed=changed,
            clock=clock,
        )
        self.reconciled = False
        loader.evict = self._evict

    @property
    def listener(self) -> EngineListener | None:
        """Who is told of engines that are ready or failed."""
        return self._loads.listener

    @listener.setter
    def listener(self, listener: EngineListener) -> None:
        self._loads.listener = listener

    @property
    def ready_versions(self) -> tuple[str, ...]:
        """Versions that can be spoken now."""
        return self._table.ready_versions

    @property
    def loading_versions(self) -> tuple[str, ...]:
        """Versions of which the first engine is being loaded."""
        return self._table.loading_versions

    @property
    def cold_versions(self) -> tuple[str, ...]:
        """Versions with weight that memory has no room for: the first request loads one."""
        return self._table.cold_versions(self._versions)

    @property
    def failures(self) -> dict[str, str]:
        """Versions that cannot be spoken, with the reason."""
        ready = self.ready_versions
        return {
            version: reason
            for version, reason in self._failed.reasons.items()
            if version not in ready and version in self._versions
        }

    @property
    def is_loading(self) -> bool:
        """Whether the loader's thread is busy."""
        return bool(self._table.loading)

    def kick(self) -> None:
        """Read the versions again: something changed."""
        self._kick.set()

    def lease(self, version: str, profile: Profile) -> bool:
        """Keep the engine for a request; False where it begins to load. Raises VersionUnavailable.

        Every lease is released.
        """
        key = (version, profile)
        if key in self._table.loaded:
            if self._loader.lease(key):
                self._arrivals.add(key)
                return True
            # It is being taken out for another's sake; this request has it loaded again.
            self._evicted(key)
        failure = self._failed.blocking(key)
        if failure is not None:
            raise failure.error
        if version in self._table.removing:
            raise VersionUnavailable(
                f"version {version} is being loaded again", retry_after=RETRY_AFTER_REMOVAL
            )
        known = self._versions.get(version)
        if known is not None:
            self._arrivals.add(key)
            self._loads.begin(known, profile, demanded=True)
        else:
            # It may have been given weight a moment ago.
            self._wanted.add(key)
            self.kick()
        return False

    def release(self, version: str, profile: Profile) -> None:
        """A request that had a lease is over."""
        self._loader.release((version, profile))

    def broken_remove(self) -> None:
        """Take out what the core gave up, to load it anew after a pause; called every beat."""
        for stats in self._core.stats().engines:
            key = (stats.version, Profile(stats.profile))
            loading = any(version == stats.version for version, _ in self._table.loading)
            if not stats.broken or key not in self._table.loaded or loading:
                continue
            reason = "the engine failed several steps in a row"
            log.error("engine_broken", version=key[0], profile=key[1])
            self._failed.add(key, reason)
            self._remove(stats.version)

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
            self._loads.cancel()
            for task in self._tasks:
                task.cancel()
            self._thread.close()

    async def _wait(self) -> None:
        """Until a change is announced, a retry or a retirement is due, or 30 s have passed."""
        pause = self._pause.seconds
        if self._retirement:
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
        self._table.keep(versions)
        self._loader.prefer(versions.keys())
        self._thread.shrink()
        for key_wanted in wanted:
            self._wanted_resolve(*key_wanted)
        self._load_ahead()
        await self._retire()
        self.reconciled = True
        self._changed()

    def _wanted_resolve(self, key: str, profile: Profile) -> None:
        version = self._versions.get(key)
        if version is not None:
            self._loads.begin(version, profile, demanded=True)
        elif self.listener is not None:
            error = VersionUnavailable(f"no route gives weight to version {key}", retry_after=2.0)
            self.listener.engine_failed(key, profile, error)

    def _load_ahead(self) -> None:
        """Load what requests will ask for as far as there is room, the most wanted first."""
        expected = self._arrivals.expected(self._versions)
        boot = [(key, BOOT_PROFILE) for key in self._versions]
        for key, profile in dict.fromkeys((*expected, *boot)):
            self._loads.begin(self._versions[key], profile, demanded=False)

    async def _retire(self) -> None:
        """Unload what has no weight, and load anew what has other numbers, once it is idle."""
        for version in await self._retirement.due(self._table.leaving(self._versions)):
            log.info("version_unloaded", version=version)
            self._remove(version)

    def _count(self, version: str) -> int:
        return self.listener.count(version) if self.listener is not None else 0

    def _remove(self, version: str) -> None:
        """Take all engines of a version out; if it has weight they are loaded anew afterwards."""
        self._table.remove(version)
        self._begin(self._removed(version))

    async def _removed(self, version: str) -> None:
        try:
            await asyncio.wrap_future(self._core.engine_remove(version))
            for profile in Profile:
                self._loader.closed((version, profile))
            # What is built from its shards may be what was broken.
            self._thread.retain(({*self._table.ready_versions} | self._versions.keys()) - {version})
        finally:
            self._table.removing.discard(version)
            self.kick()

    def _evict(self, key: EngineKey) -> None:
        """Take an idle engine out; called in the loader's thread, returns once it is closed."""
        removed = self._core.engine_remove(*key)
        self._loop.call_soon_threadsafe(self._evicted, key)
        removed.result(EVICT_SECONDS)
        self._loader.closed(key)

    def _evicted(self, key: EngineKey) -> None:
        if self._table.loaded.pop(key, None) is not None:
            log.info("engine_evicted", version=key[0], profile=key[1])
            self._table.cold.add(key)
            self._changed()

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
