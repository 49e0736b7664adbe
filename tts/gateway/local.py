"""The gateway without Redis: the engine core runs in this process."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from concurrent.futures import Future
from typing import Protocol

from tts.engine.config import BatchingConfig
from tts.engine.errors import VersionUnavailable
from tts.engine.event import EngineEvent
from tts.engine.request import Profile, SpeechRequest
from tts.engine.stats import CoreStats
from tts.engines.base import SpeechEngine
from tts.gateway.placement import WorkerRef
from tts.gateway.stream import RequestStream
from tts.gateway.wire import (
    CancelSent,
    CreditGranted,
    InputEnded,
    Open,
    RequestMessage,
    SegmentSent,
)
from tts.text.segment import Segment

LOCAL = WorkerRef("local", "")
EventSink = Callable[[Sequence[EngineEvent]], None]


class SpeechCore(Protocol):
    """What gateways and workers need of `tts.engine.core.EngineCore`; all of it is thread-safe.

    Refusals and results come through the sink that the core was made with.
    """

    def start(self) -> None: ...

    def stop(self, drain_seconds: float) -> bool: ...

    def drain(self, seconds: float) -> None: ...

    def stats(self) -> CoreStats: ...

    def submit(self, request: SpeechRequest) -> None: ...

    def append(self, request_id: str, attempt: int, segment: Segment) -> None: ...

    def end_input(self, request_id: str, attempt: int) -> None: ...

    def grant(self, request_id: str, attempt: int, samples: int) -> None: ...

    def cancel(self, request_id: str, attempt: int) -> None: ...

    def engine_add(
        self, version: str, profile: Profile, engine: SpeechEngine, batching: BatchingConfig
    ) -> Future[None]: ...

    def engine_remove(self, version: str, profile: Profile | None = None) -> Future[None]: ...

    def batching_set(self, version: str, batching: BatchingConfig) -> None: ...


class InProcessGateway:
    """`SpeechGateway` over a core that `make_core(sink)` builds.

    `start` starts the core and `stop` stops it. `versions` are those that the
    caller has added to the core, for `ready_versions`.
    """

    gateway_id = "local"

    def __init__(
        self,
        make_core: Callable[[EventSink], SpeechCore],
        *,
        versions: Collection[str] = (),
    ) -> None:
        self.core = make_core(self._sink)
        self._versions = frozenset(versions)
        self._streams: dict[str, RequestStream] = {}
        self._granted: dict[str, int] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    async def start(self) -> None:
        """Start the core."""
        self._loop = asyncio.get_running_loop()
        self.core.start()

    async def stop(self) -> None:
        """Cancel what is open and stop the core."""
        for stream in list(self._streams.values()):
            await stream.cancel()
        await asyncio.to_thread(self.core.stop, 0.0)
        self._loop = None

    def open(self, request: SpeechRequest, segments: AsyncIterator[Segment]) -> RequestStream:
        """Begin a request; see SpeechGateway."""
        if request.request_id in self._streams:
            raise ValueError(f"request {request.request_id} is under way already")
        stream = RequestStream(request, segments, self)
        self._streams[request.request_id] = stream
        return stream

    async def ready_versions(self) -> frozenset[str]:
        """The versions that were added to the core."""
        return self._versions

    def place(self, request: SpeechRequest, tried: Collection[WorkerRef]) -> WorkerRef:
        """There is one place; raises VersionUnavailable when it has refused."""
        if LOCAL in tried:
            raise VersionUnavailable(f"version {request.version} is not available")
        return LOCAL

    def send(self, worker: WorkerRef, message: RequestMessage) -> None:
        """Call the core."""
        match message:
            case Open():
                self._granted[message.request.request_id] = 0
                self.core.submit(message.request)
            case SegmentSent():
                self.core.append(message.request_id, message.attempt, message.segment)
            case InputEnded():
                self.core.end_input(message.request_id, message.attempt)
            case CreditGranted():
                delta = message.total - self._granted[message.request_id]
                self._granted[message.request_id] = message.total
                self.core.grant(message.request_id, message.attempt, delta)
            case CancelSent():
                self.core.cancel(message.request_id, message.attempt)

    def release(self, request_id: str) -> None:
        """Forget a stream that is over."""
        self._streams.pop(request_id, None)
        self._granted.pop(request_id, None)

    def _sink(self, events: Sequence[EngineEvent]) -> None:
        """Take a step's events from the core's thread to the loop."""
        loop = self._loop
        if loop is not None:
            # The loop may close while the core still finishes its last step.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._deliver, events)

    def _deliver(self, events: Sequence[EngineEvent]) -> None:
        for event in events:
            stream = self._streams.get(event.request_id)
            if stream is not None:
                stream.deliver(event)
