"""One request for speech from its admission to its outcome."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Self

from coordination.holds import hold_name
from tts.engine.errors import ErrorCode, error_from_code
from tts.engine.event import (
    AudioChunk,
    EngineEvent,
    FinishReason,
    SegmentFinished,
    SpeechFinished,
    SpeechStarted,
)
from tts.gateway.base import SpeechStream
from tts.speech.account import SpeechAccount
from tts.speech.ask import SpeechAsk
from tts.speech.flush import Flushes
from tts.speech.flush import FlushReached as FlushReached
from tts.speech.hold import Hold
from tts.speech.plan import SpeechPlan
from tts.speech.problem import problem_of
from tts.speech.segments import CheckedSegments, segments_chain
from tts.speech.text import TextFeed, TextSource, WholeText
from tts.text.errors import NoSpeakableText

if TYPE_CHECKING:
    from tts.speech.service import SpeechService

# Credit goes back in steps: a grant is a message to the worker.
GRANT_SECONDS = 0.5
DISCONNECTED = "client_disconnected"


SpeechEvent = EngineEvent | FlushReached


class SpeechSession:
    """A request while it lives; made by `SpeechService.session`.

    Entering checks the order and reserves; `events` speaks. Leaving settles the
    reservation, gives the lease back and reports the outcome, whatever happened.
    """

    def __init__(self, service: "SpeechService", ask: SpeechAsk) -> None:
        self.order = ask.order
        self.request_id = ask.request_id
        self.principal = ask.principal
        self.account = SpeechAccount(ask.received, clock=service.clock, wall=service.wall)
        self.plan: SpeechPlan | None = None
        self._service = service
        self._transport = ask.transport
        self._text: TextSource = self._source(ask)
        self._hold: Hold | None = None
        self._stream: SpeechStream | None = None
        self._ungranted = 0
        self._cancelled = False
        self._flushes = Flushes(self.account)
        self._segments = CheckedSegments(self._text, service.planner, ask.principal, self.account)
        self._merged: asyncio.Queue[SpeechEvent | BaseException | None] | None = (
            asyncio.Queue() if isinstance(self._text, TextFeed) else None
        )
        self._reader: asyncio.Task[None] | None = None
        self._events: AsyncGenerator[SpeechEvent] | None = None
        self._closed = False

    # -- admission ---------------------------------------------------------------

    async def __aenter__(self) -> Self:
        """Admit the request.

        Raises what the checks raise: the errors of tenants, registry and
        voices, LanguageNotSpoken, TextError, ServerStopping.
        """
        try:
            await self._admit()
        except BaseException as error:
            await self._leave(error)
            raise
        return self

    async def _admit(self) -> None:
        service = self._service
        service.check_open()
        plan = await service.planner.plan(self.principal, self.order)
        self.plan = plan
        await self._text.check(plan.tier.max_characters)
        self._hold = Hold(
            service.limiter, service.leases, hold_name(service.owner, self.request_id)
        )
        await self._hold.reserve(self.principal, plan.tier, self._text.characters)
        self.plan = await self._hold.lease(service.planner, self.principal, self.order)
        service.keeper.add(self._hold)

    def headers(self) -> dict[str, str]:
        """The x-ratelimit-* headers of this request."""
        return self._hold.headers() if self._hold is not None else {}

    # -- speaking ----------------------------------------------------------------

    def events(self) -> AsyncIterator[SpeechEvent]:
        """Speak: the engine's events of the attempt that counts, and `FlushReached`.

        Ends with a SpeechFinished that is COMPLETED or CANCELLED; an error is
        raised instead: EngineError, TextError, LanguageNotSpoken or an error of
        the tenant's limits. To be iterated once, within the session.
        """
        self._events = self._merge() if self._merged is not None else self._speak()
        return self._events

    async def delivered(self, samples: int, seconds: float = 0.0) -> None:
        """`samples` (at the engine's rate) have left for the listener: grant as many more.

        `seconds` is how long the transport took.
        """
        self.account.delivered(samples, seconds)
        self._ungranted += samples
        stream = self._stream
        if stream is not None and self._ungranted >= GRANT_SECONDS * self.account.sample_rate:
            granted, self._ungranted = self._ungranted, 0
            await stream.grant(granted)

    async def cancel(self) -> None:
        """End the request now; `events` then ends with CANCELLED. Idempotent."""
        self._cancelled = True
        if self._stream is not None:
            await self._stream.cancel()
        elif self._merged is not None:
            self._merged.put_nowait(self._cancelled_event())

    async def _speak(self) -> AsyncGenerator[SpeechEvent]:
        """The events of the stream, opened when the first segment is there."""
        assert self.plan is not None  # noqa: S101 - set by __aenter__
        async with aclosing(self._segments.read(self.plan, self.order.language)) as segments:
            first = await anext(segments, None)
            if first is None:
                yield self._nothing_said()
                return
            if self._cancelled:
                yield self._cancelled_event()
                return
            request = self.plan.request(self.order, self.principal, self.request_id)
            stream = self._service.gateway.open(request, segments_chain(first, segments))
            async with aclosing(self._stream_events(stream)) as events:
                async for event in events:
                    yield event

    async def _stream_events(self, stream: SpeechStream) -> AsyncGenerator[SpeechEvent]:
        """The events of an opened stream, with the flushes that they answer."""
        async with stream:
            self._stream = stream
            if self._cancelled:
                await stream.cancel()
            try:
                async for event in stream:
                    self._note(event, stream)
                    if isinstance(event, SpeechFinished):
                        for reached in self._flushes.reached(over=not self._cancelled):
                            yield reached
                        yield event
                        return
                    yield event
                    if isinstance(event, SegmentFinished):
                        for reached in self._flushes.reached():
                            yield reached
            finally:
                self._stream = None
                self.account.worker_id = stream.worker_id
                self.account.attempts = stream.attempts

    async def _merge(self) -> AsyncGenerator[SpeechEvent]:
        """The stream's events and the flushes that no event of the stream answers."""
        assert self._merged is not None  # noqa: S101 - only called with it
        self._reader = asyncio.create_task(self._read(self._merged), name="speech-reader")
        while (item := await self._merged.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
            if isinstance(item, SpeechFinished):
                return

    async def _read(self, merged: "asyncio.Queue[SpeechEvent | BaseException | None]") -> None:
        try:
            async with aclosing(self._speak()) as events:
                async for event in events:
                    merged.put_nowait(event)
        except Exception as error:  # noqa: BLE001 - raised again by `_merge`
            merged.put_nowait(error)
        else:
            merged.put_nowait(None)

    def _nothing_said(self) -> SpeechFinished:
        """The end of a request whose text had nothing to speak."""
        if isinstance(self._text, WholeText):
            raise NoSpeakableText
        self.account.ended(FinishReason.COMPLETED)
        return SpeechFinished(self.request_id, 1, FinishReason.COMPLETED)

    def _cancelled_event(self) -> SpeechFinished:
        self.account.ended(FinishReason.CANCELLED)
        return SpeechFinished(self.request_id, 1, FinishReason.CANCELLED)

    def _note(self, event: EngineEvent, stream: SpeechStream) -> None:
        """Write down what the event says; raises the error that it carries."""
        account = self.account
        if isinstance(event, AudioChunk):
            account.chunk_received(event.samples, event.sample_rate)
        elif isinstance(event, SegmentFinished):
            account.segment_finished(event)
        elif isinstance(event, SpeechStarted):
            account.queue_seconds = event.queue_seconds
            account.sample_rate = event.sample_rate
            account.worker_id = stream.worker_id
        elif isinstance(event, SpeechFinished):
            if event.reason is FinishReason.COMPLETED and self._segments.error is not None:
                account.stages = event.stages
                raise self._segments.error
            account.finished(event)
            if event.reason is FinishReason.ERROR:
                code = event.error_code or ErrorCode.SYNTHESIS_FAILED
                raise error_from_code(code, event.message, event.retry_after)

    # -- text that arrives in pieces ---------------------------------------------

    def _source(self, ask: SpeechAsk) -> TextSource:
        service = self._service
        if isinstance(ask.text, str):
            return WholeText(ask.text, service.splitter, service.text_executor, ask.split)
        return TextFeed(
            ask.text,
            service.splitter,
            service.text_executor,
            ask.split,
            on_text=self._more_text,
            on_flush=self._flushed,
        )

    async def _more_text(self, characters: int) -> None:
        if self._hold is not None:
            await self._hold.extend(characters)

    def _flushed(self, flush_id: str, count: int) -> None:
        """A flush has become `count` segments in all; answer at once if they are spoken."""
        self._flushes.mark(flush_id, count)
        if self._merged is not None:
            for reached in self._flushes.reached():
                self._merged.put_nowait(reached)

    # -- the end -----------------------------------------------------------------

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._leave(error)

    async def _leave(self, error: BaseException | None) -> None:
        """Close in a task of the service's own, which a second cancellation cannot break."""
        await asyncio.shield(self._service.spawn(self._close(error)))

    async def _close(self, error: BaseException | None) -> None:
        if self._closed:
            return
        self._closed = True
        self._note_end(error)
        try:
            await self._close_events()
        finally:
            if self._hold is not None:
                self._service.keeper.remove(self._hold)
                await self._hold.release(self.account.characters_spoken)
            self._service.report(
                self.account.outcome(
                    request_id=self.request_id,
                    principal=self.principal,
                    order=self.order,
                    plan=self.plan,
                    transport=self._transport,
                    characters_asked=self._text.characters,
                )
            )

    async def _close_events(self) -> None:
        """End the stream, and with it the worker's part."""
        if self._reader is not None:
            self._reader.cancel()
            with suppress(asyncio.CancelledError):
                await self._reader
        if self._events is not None:
            await self._events.aclose()

    def _note_end(self, error: BaseException | None) -> None:
        if isinstance(error, Exception):
            self.account.ended(FinishReason.ERROR, problem_of(error).code or "invalid_request")
        elif isinstance(error, asyncio.CancelledError):
            self.account.ended(FinishReason.CANCELLED, DISCONNECTED)
        else:
            self.account.ended(FinishReason.CANCELLED)
