"""One request as its caller sees it: segments in, events out, whatever carries them."""

import asyncio
import itertools
import time
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import replace
from types import TracebackType
from typing import Self

import structlog

from tts.engine.errors import EngineError, NothingToSpeak, SynthesisFailed, WorkerLost
from tts.engine.event import (
    AudioChunk,
    EngineEvent,
    FinishReason,
    SegmentFinished,
    SpeechFinished,
    SpeechQueued,
    SpeechStarted,
)
from tts.engine.request import SpeechRequest
from tts.engine.traces import trace_of
from tts.gateway.carrier import ELSEWHERE, Carrier, Refusal
from tts.gateway.placement import WorkerRef
from tts.gateway.progress import Progress
from tts.gateway.window import CreditMeter, TextWindow
from tts.gateway.wire import (
    CancelSent,
    CreditGranted,
    InputEnded,
    Open,
    RequestMessage,
    SegmentSent,
)
from tts.text.segment import Segment

log = structlog.get_logger(__name__)

LOSSES_MOST = 3
"""A request whose workers died this many times is not tried again: it may be what kills them."""
PUMP_CLOSE_SECONDS = 1.0

# From the clock, so that a restarted process does not begin with its former numbers.
_serials = itertools.count(time.time_ns())


class RequestStream:
    """A `SpeechStream` over a carrier. All methods belong to one event loop.

    It is placed when its first segment is there, so text that is still being
    typed holds no slot.
    """

    def __init__(
        self, request: SpeechRequest, segments: AsyncIterator[Segment], carrier: Carrier
    ) -> None:
        self.worker_id = ""
        self.attempts = 0
        self.worker: WorkerRef | None = None
        self.request = request
        self._carrier = carrier
        self._segments = segments
        self._kept: list[Segment] = []
        self._window = TextWindow()
        self._credit = CreditMeter(request.initial_credit_samples)
        self._tried: set[WorkerRef] = set()
        self._losses = 0
        self._input_over = False
        self._begun = False
        self._over = False
        self._started: SpeechStarted | None = None
        self._events: deque[EngineEvent] = deque()
        self._arrived = asyncio.Event()
        self._progress = Progress()
        self._pump_task = asyncio.create_task(self._pump(), name=f"segments-{request.request_id}")

    @property
    def attempt(self) -> int:
        """The attempt that counts; events of older ones are dropped."""
        return self.request.attempt + self.attempts - 1

    # The caller's side

    def __aiter__(self) -> AsyncIterator[EngineEvent]:
        return self

    async def __anext__(self) -> EngineEvent:
        while not self._events:
            if self._over:
                raise StopAsyncIteration
            self._arrived.clear()
            try:
                await self._arrived.wait()
            except asyncio.CancelledError:
                self._abandon()
                raise
        return self._events.popleft()

    async def grant(self, samples: int) -> None:
        """Allow `samples` more to be sent."""
        total = self._credit.grant(samples)
        if total is not None and not self._over:
            self._send(CreditGranted(self.request.request_id, self.attempt, total))

    async def cancel(self) -> None:
        """End the request now; the stream then yields SpeechFinished(CANCELLED)."""
        self._abandon()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._abandon()
        self._events.clear()
        self._pump_task.cancel()
        await asyncio.wait({self._pump_task}, timeout=PUMP_CLOSE_SECONDS)

    # The carrier's side

    def deliver(self, event: EngineEvent) -> None:
        """Take an event from a worker.

        It may arrive twice (see StreamWriter): what counted already is passed over.
        """
        if self._over or self.worker is None or event.attempt != self.attempt:
            return
        match event:
            case SpeechQueued() if not (self._begun or self._started):
                self._push(event)
            case SpeechStarted() if not self._begun:
                # Held back until audio follows: should the worker die in between,
                # the attempt that takes over has a start of its own.
                self._started = event
            case AudioChunk() if event.sequence >= self._progress.next_sequence:
                self._chunk(event)
            case SegmentFinished() if self._window.spoken(event.segment_index):
                self._begin()
                self._progress.segments += 1
                self._push(event)
            case SpeechFinished():
                self._finished(event)

    def lost(self, worker: WorkerRef, why: str) -> None:
        """The worker's life has ended; another takes over unless audio has arrived."""
        if self._over or self.worker != worker:
            return
        error = WorkerLost(why, retry_after=1.0)
        self._losses += 1
        if self._begun or self._losses >= LOSSES_MOST:
            self._fail(error)
        else:
            log.info("request_moves", request_id=self.request.request_id, from_worker=worker)
            self._send(CancelSent(self.request.request_id, self.attempt))
            self._move(error)

    def fail(self, error: EngineError) -> None:
        """End the request with `error`; the worker is told to stop."""
        if not self._over:
            self._send_cancel()
            self._fail(error)

    # Inside

    async def _pump(self) -> None:
        """Carry the segments to the worker, as fast as there is room for them."""
        try:
            async for segment in self._segments:
                await self._window.room()
                if self._over:
                    return
                self._segment_add(segment)
            self._segments_ended()
        except EngineError as error:
            self.fail(error)
        except Exception as error:  # noqa: BLE001 - the iterator is the caller's
            trace = trace_of(error)
            log.error("segments_failed", request_id=self.request.request_id, trace=trace)
            self.fail(SynthesisFailed("the text of the request could not be read to its end"))
        finally:
            close = getattr(self._segments, "aclose", None)
            if close is not None:
                await close()

    def _segment_add(self, segment: Segment) -> None:
        self._window.add(segment)
        if not self._begun:
            self._kept.append(segment)
        if self.worker is None:
            self._move(None)
        else:
            self._send(SegmentSent(self.request.request_id, self.attempt, segment))

    def _segments_ended(self) -> None:
        if self._over:
            return
        self._input_over = True
        if self.worker is None:
            self._fail(NothingToSpeak("the text has nothing that can be spoken"))
        else:
            self._send(InputEnded(self.request.request_id, self.attempt))

    def _move(self, refusal: EngineError | None) -> None:
        """Place the request on a worker not tried yet and send it what is kept."""
        if self.worker is not None:
            self._tried.add(self.worker)
        try:
            worker = self._carrier.place(self.request, self._tried)
        except EngineError as error:
            self._fail(refusal or error)
            return
        self.worker = worker
        self.worker_id = worker.worker_id
        self.attempts += 1
        self._started = None
        request_id, attempt = self.request.request_id, self.attempt
        opened = replace(self.request, attempt=attempt)
        self._send(Open(self._carrier.gateway_id, opened, next(_serials)))
        for segment in self._kept:
            self._send(SegmentSent(request_id, attempt, segment))
        if self._input_over:
            self._send(InputEnded(request_id, attempt))
        granted = self._credit.again()
        if granted:
            self._send(CreditGranted(request_id, attempt, granted))

    def _chunk(self, chunk: AudioChunk) -> None:
        self._begin()
        if self._progress.chunk(chunk):
            self._push(chunk)
        else:
            expected = self._progress.next_sequence
            self.fail(WorkerLost(f"chunk {expected} is missing, {chunk.sequence} arrived"))

    def _begin(self) -> None:
        """Audio has arrived: from here on no other worker can take over."""
        if not self._begun:
            self._begun = True
            self._kept.clear()
        if self._started is not None:
            self._push(self._started)
            self._started = None

    def _finished(self, event: SpeechFinished) -> None:
        if not self._begun and event.error_code in ELSEWHERE:
            self._move(Refusal(event))
            return
        if event.error_code is None and self._started is not None:
            self._begin()
        if event.reason is FinishReason.COMPLETED and event.samples != self._progress.samples:
            arrived = f"{self._progress.samples} of {event.samples} samples arrived"
            self._fail(WorkerLost(arrived))
            return
        self._end(event)

    def _fail(self, error: EngineError) -> None:
        if isinstance(error, Refusal):
            self._end(error.event)
            return
        self._end(self._ending(FinishReason.ERROR, error))

    def _abandon(self) -> None:
        if self._over:
            return
        self._send_cancel()
        self._events.clear()
        self._end(self._ending(FinishReason.CANCELLED))

    def _ending(self, reason: FinishReason, error: EngineError | None = None) -> SpeechFinished:
        return self._progress.finished(self.request.request_id, self.attempt, reason, error)

    def _end(self, event: SpeechFinished) -> None:
        self._over = True
        self._kept.clear()
        self._window.close()
        self._push(event)
        if self._pump_task is not asyncio.current_task():
            self._pump_task.cancel()
        self._carrier.release(self.request.request_id)

    def _push(self, event: EngineEvent) -> None:
        self._events.append(event)
        self._arrived.set()

    def _send(self, message: RequestMessage) -> None:
        if self.worker is not None:
            self._carrier.send(self.worker, message)

    def _send_cancel(self) -> None:
        self._send(CancelSent(self.request.request_id, self.attempt))
