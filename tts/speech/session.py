"""One request for speech from its admission to its outcome."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from types import TracebackType
from typing import TYPE_CHECKING, Self

from coordination.holds import hold_name
from tts.engine.errors import ErrorCode, error_from_code
from tts.engine.event import FinishReason, SegmentFinished, SpeechFinished
from tts.gateway.base import SpeechStream
from tts.speech.account import SpeechAccount
from tts.speech.ask import SpeechAsk
from tts.speech.errors import NoAudio, ServerStopping
from tts.speech.flush import Flushes
from tts.speech.hold import Hold
from tts.speech.merge import MergedEvents, SpeechEvent
from tts.speech.plan import SpeechPlan
from tts.speech.problem import problem_of
from tts.speech.segments import CheckedSegments, segments_chain
from tts.speech.text import TextFeed, TextSource, WholeText
from tts.text.errors import NoSpeakableText

if TYPE_CHECKING:
    from tts.speech.service import SpeechService

# Credit goes back in steps: a grant is a message to the worker.
GRANT_SECONDS = 0.5
# Nobody is kept waiting longer for what only frees something.
SETTLE_SECONDS = 1.0
DISCONNECTED = "client_disconnected"


class SpeechSession:
    """A request while it lives; made by `SpeechService.session`.

    Entering checks the order and reserves; `events` speaks. Leaving settles the
    reservation, gives the lease back and reports the outcome, whatever happened.
    """

    def __init__(self, service: "SpeechService", ask: SpeechAsk) -> None:
        self.order = ask.order
        self.request_id = ask.request_id
        self.principal = ask.principal
        self.account = SpeechAccount(
            ask.received, clock=service.clock, wall=service.wall, speed=ask.order.speed
        )
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
        self._merged = MergedEvents() if isinstance(self._text, TextFeed) else None
        self._events: AsyncGenerator[SpeechEvent] | None = None
        self._release: asyncio.Task[None] | None = None
        self._closed = False

    # -- admission ---------------------------------------------------------------

    async def __aenter__(self) -> Self:
        """Admit the request.

        Raises the errors of tenants, registry and voices, LanguageNotSpoken, TextError,
        ServerStopping.
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
        self.plan = plan = await service.planner.plan(self.principal, self.order)
        await self._text.check(plan.tier.max_characters)
        name = hold_name(service.owner, self.request_id)
        self._hold = Hold(service.limiter, service.leases, name)
        await self._hold.reserve(self.principal, plan.tier, self._text.characters)
        self.plan = await self._hold.lease(service.planner, self.principal, self.order)
        service.keeper.add(self._hold)

    def headers(self) -> dict[str, str]:
        """The x-ratelimit-* headers of this request."""
        return self._hold.headers() if self._hold is not None else {}

    # -- speaking ----------------------------------------------------------------

    def events(self) -> AsyncIterator[SpeechEvent]:
        """Speak: the engine's events of the attempt that counts, and `FlushReached`.

        Ends with a SpeechFinished that is COMPLETED, or CANCELLED by `cancel`; an
        error is raised instead: EngineError, TextError, LanguageNotSpoken, NoAudio,
        ServerStopping or one of the tenant's limits. To be iterated once, within.
        """
        spoken = self._speak()
        self._events = self._told(spoken if self._merged is None else self._merged.read(spoken))
        return self._events

    async def delivered(self, samples: int, seconds: float = 0.0) -> None:
        """`samples` (at the engine's rate) have left for the listener: grant as many more.

        `seconds` is how long the transport took.
        """
        self.account.delivered(samples, seconds)
        await self.grant(samples)

    async def grant(self, samples: int) -> None:
        """Let the worker send `samples` more."""
        stream, self._ungranted = self._stream, self._ungranted + samples
        if stream is not None and self._ungranted >= GRANT_SECONDS * self.account.sample_rate:
            granted, self._ungranted = self._ungranted, 0
            await stream.grant(granted)

    async def cancel(self) -> None:
        """End the request now; `events` then ends with CANCELLED. Idempotent."""
        self._cancelled = True
        if self._stream is not None:
            await self._stream.cancel()
        elif self._merged is not None:
            self._merged.put(self._finished(FinishReason.CANCELLED))

    def break_off(self, cause: str = "") -> int:
        """End it; returns the characters charged for what was sent until now.

        `cause` is what the outcome names, where the listener did not ask for it.
        """
        self.account.ended(FinishReason.CANCELLED, cause)
        return self.account.charge()

    async def settle(self, error: Exception | None = None) -> None:
        """Free the slot and the lease, and settle, before the listener learns of the end.

        `error` is what ended the request, if anything did. Leaving the session does the
        same, but a listener may ask again as soon as it knows.
        """
        if error is not None:
            self._note_end(error)
        await asyncio.wait({self._releasing()}, timeout=SETTLE_SECONDS)

    async def _told(self, events: AsyncGenerator[SpeechEvent]) -> AsyncGenerator[SpeechEvent]:
        """The events, the end noted when it is told: audio that was read ahead comes first."""
        async with aclosing(events):
            async for event in events:
                if isinstance(event, SpeechFinished):
                    self._note_finish(event)
                yield event

    async def _speak(self) -> AsyncGenerator[SpeechEvent]:
        """The events of the stream, opened when the first segment is there."""
        assert self.plan is not None  # noqa: S101 - set by __aenter__
        async with aclosing(self._segments.read(self.plan, self.order.language)) as segments:
            first = await anext(segments, None)
            if first is None or self._cancelled:
                reason = FinishReason.COMPLETED if first is None else FinishReason.CANCELLED
                yield self._finished(reason)
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
                    self.account.note(event, stream.worker_id)
                    if isinstance(event, SpeechFinished):
                        if event.reason is FinishReason.COMPLETED and not self._segments.error:
                            for reached in self._flushes.reached(over=True):
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

    def _finished(self, reason: FinishReason) -> SpeechFinished:
        """The end of a request that no worker has heard of."""
        if reason is FinishReason.COMPLETED and self._merged is None:
            raise NoSpeakableText
        return SpeechFinished(self.request_id, 1, reason)

    def _note_finish(self, event: SpeechFinished) -> None:
        """Write down the end; raises the error that it carries."""
        self.account.stages = event.stages
        completed = event.reason is FinishReason.COMPLETED
        if completed and self._segments.error is not None:
            raise self._segments.error
        if completed and not self.account.samples_received and self._merged is None:
            raise NoAudio
        if event.reason is FinishReason.CANCELLED and not self._cancelled:
            # Nobody asked for it here: the process ends what it speaks.
            raise ServerStopping
        self.account.ended(event.reason, str(event.error_code or ""))
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
            self._merged.put(*self._flushes.reached())

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
            await self._releasing()
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

    def _releasing(self) -> "asyncio.Task[None]":
        """The one task that gives back what the request holds."""
        if self._release is None:
            work = self._service.keeper.release(self._hold, self.account.charge())
            self._release = self._service.spawn(work)
        return self._release

    async def _close_events(self) -> None:
        """End the stream, and with it the worker's part."""
        if self._merged is not None:
            await self._merged.close()
        if self._events is not None:
            await self._events.aclose()

    def _note_end(self, error: BaseException | None) -> None:
        if isinstance(error, asyncio.CancelledError) and self._service.cutting.is_set():
            error = ServerStopping()
        if isinstance(error, Exception):
            self.account.ended(FinishReason.ERROR, problem_of(error).code or "invalid_request")
        elif isinstance(error, asyncio.CancelledError):
            self.account.ended(FinishReason.CANCELLED, DISCONNECTED)
        else:
            self.account.ended(FinishReason.CANCELLED)
