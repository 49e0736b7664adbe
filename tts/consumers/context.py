"""One context of a socket: text goes in piece by piece, speech comes out."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

from tenants.principal import Principal
from tts.consumers.base import problem_logged
from tts.consumers.delivery import Delivery
from tts.consumers.frames import FrameSender
from tts.consumers.inbox import FlushAsked, TextInbox
from tts.consumers.outbox import Outbox, OutboxFull
from tts.consumers.protocol import error_encode, message_encode
from tts.consumers.settings import ContextSettings
from tts.engine.event import AudioChunk, FinishReason, SpeechFinished, SpeechQueued, SpeechStarted
from tts.speech.account import SpeechAccount
from tts.speech.encoding import SpeechEncoder
from tts.speech.flush import FlushReached
from tts.speech.service import SpeechService
from tts.speech.session import SpeechSession
from tts.speech.text import TextPiece


class SpeechContext:
    """Speaks the text of one context, from its first piece to its end.

    The socket calls `append`, `flush`, `end`, `hurry`, `mute`, `break_off`, `fail` and
    `played`, which never wait; `run` does the work in a task of its own. A context to
    which nothing comes for `idle_seconds` after all is spoken ends by itself: it
    holds a slot of the tenant and a lease on its version. `caller` says for whom,
    when the context's turn has come; it raises what refuses. `over` is called
    before the client is told of the end, when its name is free again;
    `overflow` when the client leaves too many messages unread.
    """

    def __init__(
        self,
        context_id: str,
        settings: ContextSettings,
        service: SpeechService,
        caller: Callable[[], Awaitable[Principal]],
        outbox: Outbox,
        turns: asyncio.Semaphore,
        *,
        over: Callable[["SpeechContext"], None],
        overflow: Callable[[], None],
    ) -> None:
        self.context_id = context_id
        self.muted = False
        self._settings = settings
        self._service = service
        self._caller = caller
        self._outbox = outbox
        self._turns = turns
        self._over = over
        self._overflow = overflow
        self._inbox = TextInbox(
            settings.buffer_characters, settings.max_buffer_delay, self._tell_delayed
        )
        self._patience = settings.idle_seconds
        self._session: SpeechSession | None = None
        self._delivery = Delivery()
        self._flushed_samples = 0
        self._flushed_characters = 0
        self._frames = FrameSender(
            context_id,
            settings.order,
            settings.transport,
            outbox,
            owner=self,
            leaving=self._delivery.leaving,
        )

    # -- what the socket tells ---------------------------------------------------

    @property
    def ended(self) -> bool:
        """Whether no more text is taken."""
        return self._inbox.ended

    @property
    def ended_by_client(self) -> bool:
        """Whether that is the client's own doing."""
        return self._inbox.ended_by_client

    @property
    def begun(self) -> bool:
        """Whether its turn has come."""
        return self._session is not None

    def append(self, text: str) -> bool:
        """Take more text; False when the buffer has no room for it."""
        return self._inbox.append(text)

    def flush(self, asked: FlushAsked) -> bool:
        """Speak what is there and say so when its audio has been sent; False without room."""
        return self._inbox.flush(asked)

    def end(self, event_id: str | None = None) -> None:
        """No more text: the client's wish."""
        self._inbox.end(event_id)

    def hurry(self) -> None:
        """End by itself as soon as all is spoken and nothing has come for `max_buffer_delay`."""
        self._patience = min(self._patience, self._settings.max_buffer_delay)
        self._inbox.hurry(self._patience)

    def mute(self) -> None:
        """From now on nothing of this context is sent."""
        self.muted = True

    def break_off(self, cause: str = "") -> dict[str, Any]:
        """Mute; nothing more is wanted. Returns what was sent until now.

        `cause` is what ended it when the client did not ask for that.
        """
        self.mute()
        spoken = self._session.break_off(cause) if self._session is not None else 0
        return {"audio_sent_ms": self._delivery.sent_ms, "chars_spoken": spoken}

    def fail(self, error: Exception, *, fatal: bool = False) -> None:
        """Say what ended it, and nothing after that; `fatal` when the socket ends with it."""
        problem = problem_logged(error, "context_failed")
        self._send(error_encode(problem, context_id=self.context_id, fatal=fatal))
        self.fall()

    def fall(self) -> None:
        """Say that it ends for what is said elsewhere, and nothing after that."""
        self._done(FinishReason.ERROR)
        self.mute()

    async def played(self, milliseconds: float) -> None:
        """The listener has heard this much: it becomes the stream's credit."""
        await self._delivery.played(milliseconds)

    # -- speaking ----------------------------------------------------------------

    async def run(self) -> None:
        """Wait for a turn, speak, report how it ended. Never raises but CancelledError."""
        try:
            async with self._turns:
                await self._speak()
        except Exception as error:  # noqa: BLE001 - every failure is said to the client
            self.fail(error)

    async def _speak(self) -> None:
        session = self._service.session(
            await self._caller(), self._settings.order, self._text(), transport="websocket",
            split=self._settings.split,
        )  # fmt: skip
        self._session = session
        self._delivery.begin(session)
        async with session:
            encoder: SpeechEncoder | None = None
            try:
                async with aclosing(session.events()) as events:  # type: ignore[type-var]
                    async for event in events:
                        if isinstance(event, AudioChunk):
                            encoder = encoder or self._service.encoder(
                                self._settings.order, event.sample_rate
                            )
                            await self._audio(session, encoder, event)
                        elif isinstance(event, FlushReached):
                            await self._frames.rest()
                            self._flush_done(event)
                        elif isinstance(event, SpeechFinished):
                            await self._finish(session, encoder, event)
                        else:
                            self._tell(event)
            finally:
                if encoder is not None:
                    session.account.encode_seconds = encoder.seconds
                    encoder.close()

    async def _text(self) -> AsyncIterator[TextPiece]:
        heard = False
        while (piece := await self._next_piece()) is not None:
            if piece.text and not heard and self._session is not None:
                # A socket's clock starts with its text, not while the client still thinks.
                heard = True
                self._session.account.began = self._service.clock()
            yield piece

    async def _next_piece(self) -> TextPiece | None:
        """The next piece; None at the end, also when nothing came for too long."""
        while True:
            try:
                return await self._inbox.next(self._patience)
            except TimeoutError:
                if self._spoken:
                    self._inbox.end(by_client=False)
                    idle = f"No text came for {self._patience:g} s"
                    self._warn("context_idle", f"{idle}: the context has been ended.")
                    return None

    @property
    def _spoken(self) -> bool:
        """Whether all text that came has been spoken."""
        if self._session is None:
            return True
        account = self._session.account
        return account.finished_segments >= len(account.segments)

    def _tell(self, event: object) -> None:
        if isinstance(event, SpeechQueued):
            self._post("queue.position", position=event.position)
        elif isinstance(event, SpeechStarted) and self._frames.count == 0:
            assert self._session is not None  # noqa: S101 - events come from it
            self._post(
                "speech.started",
                speech_id=self._session.request_id,
                queue_ms=round(event.queue_seconds * 1000, 1),
            )

    async def _audio(
        self, session: SpeechSession, encoder: SpeechEncoder, chunk: AudioChunk
    ) -> None:
        data = await encoder.encode(chunk.pcm)
        started = time.monotonic()
        await self._frames.send(data, chunk.samples / chunk.sample_rate)
        session.account.send_seconds += time.monotonic() - started
        await self._delivery.credit()

    def _flush_done(self, reached: FlushReached) -> None:
        assert self._session is not None  # noqa: S101 - events come from it
        samples = reached.samples - self._flushed_samples
        characters = reached.characters - self._flushed_characters
        self._flushed_samples, self._flushed_characters = reached.samples, reached.characters
        asked = self._inbox.answered(reached.flush_id)
        if asked is None:
            return
        rate = self._session.account.sample_rate
        self._post(
            "flush.done",
            flush_id=asked.flush_id,
            event_id=asked.event_id,
            audio_ms=round(samples * 1000 / rate, 1) if rate else 0,
            characters=characters,
        )

    async def _finish(
        self, session: SpeechSession, encoder: SpeechEncoder | None, event: SpeechFinished
    ) -> None:
        if encoder is not None and event.reason is FinishReason.COMPLETED:
            await self._frames.send(await encoder.finish())
            await self._frames.rest()
        # Whoever hears of the end may begin anew at once.
        await session.settle()
        self._done(event.reason)

    def _done(self, reason: FinishReason) -> None:
        account = None if self._session is None else self._session.account
        self._over(self)
        self._post(
            "speech.done",
            event_id=self._inbox.event_id,
            reason=reason.value,
            usage={"characters": 0 if account is None else account.characters_spoken},
            metrics=None if account is None else self._metrics(account),
        )

    def _metrics(self, account: SpeechAccount) -> dict[str, float | None]:
        first = account.first_audio_seconds
        return {
            "queue_ms": round(account.queue_seconds * 1000, 1),
            "ttfa_ms": None if first is None else round(first * 1000, 1),
            "rtf": None if account.rtf is None else round(account.rtf, 4),
            "audio_ms": self._delivery.sent_ms,
        }

    def _tell_delayed(self) -> None:
        delay = self._settings.max_buffer_delay * 1000
        self._warn("auto_flush", f"Nothing came for {delay:.0f} ms: what waited is spoken.")

    def _warn(self, code: str, message: str) -> None:
        self._post("warning", code=code, message=message)

    def _post(self, kind: str, **fields: object) -> None:
        self._send(message_encode(kind, context_id=self.context_id, **fields))

    def _send(self, message: str) -> None:
        if self.muted:
            return
        try:
            self._outbox.post(message)
        except OutboxFull:
            self._overflow()
