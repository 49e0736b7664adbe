"""The thread in which a worker's engines are loaded, one at a time."""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from tts.consumers.worker.loading import EngineKey, EngineLoader, Version
from tts.engine.config import BatchingConfig
from tts.engine.request import Profile
from tts.engines.base import SpeechEngine
from tts.gateway.local import SpeechCore


class LoaderThread:
    """Loads engines into the core, and has memory given back; all of it in turn.

    `shown` returns when the heartbeat has told that a load begins.
    """

    def __init__(
        self, core: SpeechCore, loader: EngineLoader, shown: Callable[[], Awaitable[None]]
    ) -> None:
        self._core = core
        self._loader = loader
        self._shown = shown
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="engine-loader")

    async def load(
        self,
        version: Version,
        profile: Profile,
        batching: Callable[[], BatchingConfig],
        *,
        demanded: bool,
    ) -> None:
        """Load an engine and give it to the core, with the batching of that moment.

        Raises EngineError, and whatever a manifest or a shard that is wrong leads to; nothing of
        the engine is left then.
        """
        # Loading may hold the interpreter for a while: the heartbeat says so first.
        await self._shown()
        load = partial(self._loader.load, version, profile, demanded=demanded)
        engine = await asyncio.get_running_loop().run_in_executor(self._thread, load)
        key = (version.key, profile)
        try:
            added = self._core.engine_add(version.key, profile, engine, batching())
            await asyncio.wrap_future(added)
        except Exception:
            self._thread.submit(self._given_up, key, engine)
            raise
        self._loader.settled(key)

    def retain(self, versions: Collection[str]) -> None:
        """Forget what only other versions needed, after the loads that are under way."""
        self._thread.submit(self._loader.retain, frozenset(versions))

    def shrink(self) -> None:
        """Make room where the device has more in use than it should."""
        self._thread.submit(self._loader.shrink)

    def close(self) -> None:
        """Begin no load any more."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _given_up(self, key: EngineKey, engine: SpeechEngine) -> None:
        engine.close()
        self._loader.closed(key)
