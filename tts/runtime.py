"""What one process needs to speak, built once an event loop and started when first used.

Daphne tells no application that it has started, so the first request does. The
parts come from `voicehost.wiring`, which calls `runtime_configure`.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from coordination.epoch import ConfigCache
from tts.speech.service import SpeechService


@dataclass(frozen=True, slots=True)
class SpeechRuntime:
    """A process's service and its view of the configuration.

    `catalogue_is_public` says whether models and voices are listed without a
    key; `close` frees what the service does not own.
    """

    service: SpeechService
    cache: ConfigCache
    catalogue_is_public: Callable[[], Awaitable[bool]]
    close: Callable[[], Awaitable[None]]


class RuntimeMissing(RuntimeError):
    """`runtime_configure` was not called in this process."""


_build: Callable[[], SpeechRuntime] | None = None
_starting: "WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Task[SpeechRuntime]]" = (
    WeakKeyDictionary()
)


def runtime_configure(build: Callable[[], SpeechRuntime]) -> None:
    """Say how this process's runtime is built; `build` runs on the serving event loop."""
    global _build
    _build = build


async def runtime_get() -> SpeechRuntime:
    """The running loop's runtime, started by the first caller; a failed start is tried again."""
    loop = asyncio.get_running_loop()
    task = _starting.get(loop)
    if task is None:
        task = loop.create_task(_start(), name="speech-runtime-start")
        _starting[loop] = task
    try:
        # Shielded: whoever gives up waiting must not stop it for the others.
        return await asyncio.shield(task)
    except Exception:
        if _starting.get(loop) is task:
            del _starting[loop]
        raise


def runtime_drain() -> None:
    """Take nothing new on the running loop; a runtime that never started has nothing to drain."""
    runtime = _started()
    if runtime is not None:
        runtime.service.drain()


def runtime_cut() -> None:
    """The server now ends by itself what still runs on this loop."""
    runtime = _started()
    if runtime is not None:
        runtime.service.cut()


def runtime_draining() -> bool:
    """Whether the running loop's runtime takes nothing new any more."""
    runtime = _started()
    return runtime is not None and runtime.service.draining.is_set()


async def runtime_stop() -> None:
    """End the running loop's runtime, if it has one."""
    runtime = _started()
    _starting.pop(asyncio.get_running_loop(), None)
    if runtime is not None:
        await runtime.service.stop()
        await runtime.close()


async def _start() -> SpeechRuntime:
    if _build is None:
        raise RuntimeMissing("call runtime_configure before speech is asked for")
    runtime = _build()
    try:
        await runtime.service.start()
    except BaseException:
        await runtime.close()
        raise
    return runtime


def _started() -> SpeechRuntime | None:
    task = _starting.get(asyncio.get_running_loop())
    if task is None or not task.done() or task.cancelled() or task.exception() is not None:
        return None
    return task.result()
