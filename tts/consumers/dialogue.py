"""What is said on one socket: its settings, its contexts, the answers to its messages."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from tenants.choices import Scope
from tenants.principal import Principal
from tts.consumers.base import problem_logged
from tts.consumers.context import ContextSettings, SpeechContext
from tts.consumers.inbox import FlushAsked
from tts.consumers.outbox import Outbox, OutboxFull
from tts.consumers.protocol import (
    AnyClientMessage,
    AudioTransport,
    CloseCode,
    ContextCancel,
    Ping,
    PlaybackPosition,
    ProtocolError,
    SessionClose,
    SessionUpdate,
    TextAppend,
    TextEnd,
    TextFlush,
    message_decode,
    message_encode,
)
from tts.consumers.settings import SessionSettings, SocketLimits
from tts.consumers.violations import Violations
from tts.engine.event import FinishReason
from tts.speech.errors import BufferFull, ContextEnded, TooManyContexts
from tts.speech.problem import Problem
from tts.speech.service import SpeechService
from tts.speech.session import SETTLE_SECONDS

Close = Callable[[CloseCode, str], None]


class Dialogue:
    """Handles messages one by one; none waits for audio, since contexts speak in their own tasks.

    `close` is told when the socket has to end. While `closing`, what runs is
    finished: positions, cancels and pings still count, nothing new begins.

    The key is looked at again with every piece of text, and once more when a context
    begins to speak: one that was revoked, or has lost its scope, gets no more text in,
    and a changed tier or limit holds for every context that begins to speak afterwards.
    A context that speaks already goes on with the tier and limits it began with.
    """

    def __init__(
        self,
        service: SpeechService,
        principal: Principal,
        outbox: Outbox,
        limits: SocketLimits,
        close: Close,
    ) -> None:
        self.settings = SessionSettings()
        self.closing = False
        self._service = service
        self._admitted = principal
        self._outbox = outbox
        self._limits = limits
        self._close = close
        self._contexts: dict[str, SpeechContext] = {}
        self._tasks: dict[asyncio.Task[None], SpeechContext] = {}
        self._turns = {
            AudioTransport.BINARY: asyncio.Semaphore(1),
            AudioTransport.BASE64: asyncio.Semaphore(limits.parallel_contexts),
        }
        self._cancelling = asyncio.Lock()
        self._violations = Violations(limits.errors)

    @property
    def speaking(self) -> bool:
        """Whether a context is open."""
        return bool(self._tasks)

    async def receive(self, text: str) -> None:
        """Handle one text frame; raises OutboxFull only."""
        limit = self._limits.message_bytes
        if len(text) > limit or len(text.encode()) > limit:
            self.error(
                Problem(
                    413,
                    f"A message may have {limit:,} bytes.",
                    code="message_too_large",
                ),
                fatal=True,
            )
            self._close(CloseCode.TOO_BIG, "message_too_large")
            return
        try:
            message = message_decode(text)
        except ProtocolError as error:
            problem = Problem(400, error.message, code=error.code, param=error.param)
            self.error(problem, event_id=error.event_id)
            return
        if self.closing and not isinstance(message, PlaybackPosition | ContextCancel | Ping):
            return
        try:
            await self._handle(message)
        except OutboxFull:
            raise
        except Exception as error:  # noqa: BLE001 - said to the client, the socket goes on
            self.error(
                problem_logged(error, "socket_message_failed"),
                event_id=message.event_id,
                context_id=getattr(message, "context_id", None),
            )
        else:
            self._violations.taken()

    async def finish(self) -> None:
        """End every context and wait until what came is spoken."""
        for context in self._contexts.values():
            if not context.ended:
                context.end()
        if self._tasks:
            await asyncio.wait(set(self._tasks))
        # A cancel is answered a moment after its contexts have ended.
        async with self._cancelling:
            pass

    async def abandon(self, cause: str = "") -> None:
        """Stop every context now; `cause` is why, where neither the client nor the server left."""
        for task, context in self._tasks.items():
            if cause:
                context.break_off(cause)
            context.mute()
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # -- messages ----------------------------------------------------------------

    async def _handle(self, message: AnyClientMessage) -> None:
        match message:
            case TextAppend():
                await self._append(message)
            case TextFlush():
                self._flush(message)
            case TextEnd():
                self._end(message)
            case ContextCancel():
                await self._cancel(message)
            case PlaybackPosition():
                known = self._contexts.get(message.context_id)
                if known is not None:
                    await known.played(message.ms)
            case SessionUpdate():
                self.settings = self.settings.updated(message)
                self._reply("session.updated", message, session=self.settings.describe())
            case Ping():
                self._reply("pong", message)
            case SessionClose():
                self._close(CloseCode.NORMAL, "client_request")

    async def _append(self, message: TextAppend) -> None:
        # Also for a context that runs: a key revoked meanwhile gets no more text in.
        await self._caller()
        context = self._open_context(message.context_id)
        if context is None:
            if len(self._contexts) >= self._limits.contexts:
                raise TooManyContexts(self._limits.contexts)
            context = self._begin(message.context_id)
        if not context.append(message.text):
            raise BufferFull(self._limits.buffer_characters)

    async def _caller(self) -> Principal:
        """Who speaks, as things are now; raises once the key is no longer good for it."""
        # The key, not the token: a token opens a socket and may expire while it is open.
        principal = await self._service.authenticate_again(self._admitted)
        principal.require_scope(Scope.SPEECH)
        return principal

    def _flush(self, message: TextFlush) -> None:
        context = self._open_context(message.context_id)
        if context is None:
            # Nothing to speak, or a cancel crossed it on the wire.
            self._reply("flush.done", message, context_id=message.context_id,
                        flush_id=message.flush_id, audio_ms=0, characters=0)  # fmt: skip
        elif not context.flush(FlushAsked(message.flush_id, message.event_id)):
            raise BufferFull(self._limits.buffer_characters)

    def _end(self, message: TextEnd) -> None:
        context = self._open_context(message.context_id)
        if context is None:
            self._reply("speech.done", message, context_id=message.context_id,
                        reason=FinishReason.COMPLETED.value, usage={"characters": 0})  # fmt: skip
        else:
            context.end(message.event_id)

    def _open_context(self, context_id: str) -> SpeechContext | None:
        """The context of this name that still takes text; raises ContextEnded after its end."""
        found = self._contexts.get(context_id)
        if found is not None and found.ended:
            raise ContextEnded(context_id)
        return found

    def _begin(self, context_id: str) -> SpeechContext:
        settings = ContextSettings(
            order=self.settings.order(),
            transport=self.settings.transport,
            max_buffer_delay=self.settings.max_buffer_delay_ms / 1000,
            buffer_characters=self._limits.buffer_characters,
            idle_seconds=self._limits.idle_seconds,
            split=self.settings.split,
        )
        context = SpeechContext(
            context_id,
            settings,
            self._service,
            self._caller,
            self._outbox,
            self._turns[settings.transport],
            over=self._over,
            overflow=partial(self._close, CloseCode.OVERLOADED, "client_does_not_read"),
        )
        self._contexts[context_id] = context
        task = asyncio.create_task(context.run(), name=f"context {context_id}")
        self._tasks[task] = context
        task.add_done_callback(partial(self._task_over, context))
        return context

    def _over(self, context: SpeechContext) -> None:
        """Its name is free: the next text of that name begins a new context."""
        if self._contexts.get(context.context_id) is context:
            del self._contexts[context.context_id]

    def _task_over(self, context: SpeechContext, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
        self._over(context)

    async def _cancel(self, message: ContextCancel) -> None:
        every = message.context_id == "*"
        # Without any, the answer is to the "*" itself: whoever cancels waits for one.
        names = (every and list(self._contexts)) or [message.context_id]
        # Cancelling what is already over is no error: the two cross on the wire.
        sent = {name: {"audio_sent_ms": 0.0, "chars_spoken": 0} for name in names}
        found = [self._contexts.pop(name) for name in names if name in self._contexts]
        for context in found:
            sent[context.context_id] = context.break_off()
        tasks = {task for task, owner in self._tasks.items() if owner in found}
        async with self._cancelling:
            for task in tasks:
                task.cancel()
            if tasks:
                # Whoever hears of it may begin anew at once, and needs the slots for that.
                await asyncio.wait(tasks, timeout=SETTLE_SECONDS)
            for name in names:
                self._reply("context.cancelled", message, context_id=name, **sent[name])

    # -- answers -----------------------------------------------------------------

    def _reply(self, kind: str, message: AnyClientMessage, **fields: object) -> None:
        self._outbox.post(message_encode(kind, event_id=message.event_id, **fields))

    def error(
        self,
        problem: Problem,
        *,
        event_id: str | None = None,
        context_id: str | None = None,
        fatal: bool = False,
    ) -> None:
        """Say what went wrong; too many violations or a key no longer good end the socket."""
        unauthorized = problem.status == 401
        too_many = self._violations.refused(problem.code)
        self._outbox.post(
            message_encode(
                "error",
                **self.envelope(problem),
                event_id=event_id,
                context_id=context_id,
                fatal=fatal or unauthorized or too_many,
            )
        )
        if unauthorized:
            self._close(CloseCode.UNAUTHORIZED, "invalid_api_key")
        elif too_many:
            self._close(CloseCode.POLICY, "too_many_errors")

    @staticmethod
    def envelope(problem: Problem) -> dict[str, Any]:
        """The fields of an error message."""
        fields: dict[str, Any] = dict(problem.envelope())
        if problem.retry_after is not None:
            fields["retry_after"] = problem.retry_after
        return fields
