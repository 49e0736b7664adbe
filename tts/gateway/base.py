"""The gateway: a request and its segments go in, engine events come out."""

from collections.abc import AsyncIterator
from types import TracebackType
from typing import Protocol, Self

from tts.engine.event import EngineEvent
from tts.engine.request import SpeechRequest
from tts.text.segment import Segment


class SpeechStream(Protocol):
    """The events of one request, in order, of the attempt that counts.

    Iterating yields `SpeechQueued`, `SpeechStarted`, `AudioChunk` and
    `SegmentFinished`, then exactly one `SpeechFinished`, after which iteration
    ends. Errors are in that last event, never raised by iteration. Leaving the
    context, or cancelling a pending `__anext__`, cancels the request and frees
    everything it held.
    """

    worker_id: str
    attempts: int

    def __aiter__(self) -> AsyncIterator[EngineEvent]: ...

    async def grant(self, samples: int) -> None:
        """Allow `samples` more to be sent: that many have left for the listener."""

    async def cancel(self) -> None:
        """End the request now; the stream then yields SpeechFinished(CANCELLED). Idempotent."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...


class SpeechGateway(Protocol):
    """Where speech comes from."""

    async def start(self) -> None:
        """Connect; called once on the event loop that will use it."""

    async def stop(self) -> None:
        """Cancel what is open and disconnect."""

    def open(self, request: SpeechRequest, segments: AsyncIterator[Segment]) -> SpeechStream:
        """Begin a request. `segments` is read as the text arrives, and closed at the end.

        Segments are held until the first audio, so that another worker can take
        over; failures to place the request arrive as SpeechFinished(ERROR).
        """

    async def ready_versions(self) -> frozenset[str]:
        """The versions that some live worker can speak now."""
