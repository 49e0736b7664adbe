"""The loads of a worker's engines: begun once, and what comes of them."""

import asyncio
from collections.abc import Callable

import structlog

from tts.consumers.worker.engine_table import EngineTable
from tts.consumers.worker.failures import Failures
from tts.consumers.worker.loader_thread import LoaderThread
from tts.consumers.worker.loading import EngineKey, EngineListener, NoRoom, Version
from tts.engine.config import BatchingConfig
from tts.engine.errors import EngineError
from tts.engine.request import Profile

log = structlog.get_logger(__name__)


class EngineLoads:
    """Runs loads on the event loop. `batching(version)` is that of the moment a load ends.

    `kick` has the versions read again, `changed` the heartbeat shown.
    """

    def __init__(
        self,
        thread: LoaderThread,
        table: EngineTable,
        failed: Failures,
        *,
        batching: Callable[[Version], BatchingConfig],
        kick: Callable[[], None],
        changed: Callable[[], None],
        clock: Callable[[], float],
    ) -> None:
        self._thread = thread
        self._table = table
        self._failed = failed
        self._batching = batching
        self._kick = kick
        self._changed = changed
        self._clock = clock
        self._demanded: set[EngineKey] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.listener: EngineListener | None = None

    def begin(self, version: Version, profile: Profile, *, demanded: bool) -> None:
        """Load unless it is there, under way, or failed a moment ago; see EngineLoader.load."""
        key = (version.key, profile)
        if demanded:
            self._demanded.add(key)
        if self._table.has(key) or self._failed.blocking(key) is not None:
            return
        self._table.loading.add(key)
        task = asyncio.create_task(self._run(version, profile, demanded=demanded))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def cancel(self) -> None:
        """Wait for nothing any more."""
        for task in self._tasks:
            task.cancel()

    async def _run(self, version: Version, profile: Profile, *, demanded: bool) -> None:
        key = (version.key, profile)
        began = self._clock()
        try:
            try:
                await self._load(version, profile, demanded=demanded)
            except NoRoom:
                # A request may have come for what was begun ahead of any.
                if demanded or key not in self._demanded:
                    raise
                await self._load(version, profile, demanded=True)
        except NoRoom as error:
            self._no_room(key, error)
        except EngineError as error:
            self._load_failed(key, error.message, error.retry_after)
        except Exception as error:
            # A manifest or a shard can be wrong in any way; the worker goes on with the others.
            log.exception("engine_load_failed", version=version.key, profile=profile)
            self._load_failed(key, f"{type(error).__name__}: {error}")
        else:
            seconds = round(self._clock() - began, 3)
            log.info("engine_loaded", version=version.key, profile=profile, seconds=seconds)
            self._loaded(key, version)
        finally:
            self._demanded.discard(key)
            self._table.loading.discard(key)
            self._changed()

    async def _load(self, version: Version, profile: Profile, *, demanded: bool) -> None:
        await self._thread.load(
            version, profile, lambda: self._batching(version), demanded=demanded
        )

    def _loaded(self, key: EngineKey, version: Version) -> None:
        self._table.loaded[key] = version
        self._table.cold.discard(key)
        self._failed.loaded(key)
        if self.listener is not None:
            self.listener.engine_ready(*key)
        # It may have lost its weight while it was loaded.
        self._kick()

    def _no_room(self, key: EngineKey, error: NoRoom) -> None:
        """Nothing is wrong with the version: the next request tries again."""
        if key not in self._table.cold:
            log.info("engine_cold", version=key[0], profile=key[1], reason=error.message)
        self._table.cold.add(key)
        if self.listener is not None:
            self.listener.engine_failed(*key, error)

    def _load_failed(self, key: EngineKey, reason: str, retry_after: float | None = None) -> None:
        log.warning("engine_unavailable", version=key[0], profile=key[1], error=reason)
        failure = self._failed.add(key, reason, retry_after)
        if self.listener is not None:
            self.listener.engine_failed(*key, failure.error)
        self._kick()
