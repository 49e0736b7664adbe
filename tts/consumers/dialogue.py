"""What is said on one socket: its settings, its contexts, the answers to its messages."""

from collections.abc import Callable
from functools import partial
from typing import Any

from tenants.choices import Scope
from tenants.principal import Principal
from tts.consumers.base import problem_logged
from tts.consumers.contexts import OpenContexts
from tts.consumers.inbox import FlushAsked
from tts.consumers.outbox import Outbox, OutboxFull
from tts.consumers.protocol import (
    AnyClientMessage,
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
    error_encode,
    message_decode,
    message_encode,
)
from tts.consumers.settings import SessionSettings, SocketLimits
from tts.consumers.violations import Violations
from tts.engine.event import FinishReason
from tts.speech.errors import BufferFull, ContextEnded
from tts.speech.problem import Problem
from tts.speech.service import SpeechService

Close = Callable[[CloseCode, str], None]


class Dialogue:
    """Handles messages one by one; none waits for audio, since contexts speak in their own tasks.

    `close` is told when the socket has to end. Once the client wants to close, what runs
    is finished: positions, cancels and pings still count, nothing new begins. When the
    server stops (`drain`), contexts that speak take text until their end, and nothing new
    begins either, which clients are told.

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
        self._service = service
        self._admitted = principal
        self._outbox = outbox
        self._limits = limits
        self._close = close
        self._leaving = False
        self._contexts = OpenContexts(
            service,
            self._caller,
            outbox,
            limits,
            overflow=partial(close, CloseCode.OVERLOADED, "client_does_not_read"),
        )
        self._violations = Violations(limits.errors)

    @property
    def speaking(self) -> bool:
        """Whether a context is open."""
        return bool(self._contexts)

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
        if self._leaving and not isinstance(message, PlaybackPosition | ContextCancel | Ping):
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
                crossed=isinstance(error, ContextEnded) and not error.by_client,
            )
        else:
            self._violations.taken()

    def drain(self) -> None:
        """The server stops: contexts that speak go on, those that wait to are refused."""
        self._contexts.drain()

    def cut(self) -> None:
        """The server waits no longer: tell what is left, and stop it."""
        self._contexts.cut()

    async def finish(self) -> None:
        """Wait until what runs is spoken."""
        await self._contexts.finish()

    def break_off(self, cause: str) -> None:
        """Stop every context now; `cause` is why."""
        self._contexts.break_off(cause)

    async def abandon(self, cause: str = "") -> None:
        """Stop every context and wait; `cause` as in `break_off`, empty when somebody left."""
        await self._contexts.abandon(cause)

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
                known = self._contexts.named(message.context_id)
                if known is not None:
                    await known.played(message.ms)
            case SessionUpdate():
                self.settings = self.settings.updated(message)
                self._reply("session.updated", message, session=self.settings.describe())
            case Ping():
                self._reply("pong", message)
            case SessionClose():
                self._leaving = True
                self._contexts.end()
                self._close(CloseCode.NORMAL, "client_request")

    async def _append(self, message: TextAppend) -> None:
        # Also for a context that runs: a key revoked meanwhile gets no more text in.
        try:
            await self._caller()
            context = self._contexts.taking(message.context_id)
            if context is None:
                context = self._contexts.begin(message.context_id, self.settings)
        except Exception:
            self._contexts.refuse(message.context_id)
            raise
        if not context.append(message.text):
            raise BufferFull(self._limits.buffer_characters)

    async def _caller(self) -> Principal:
        """Who speaks, as things are now; raises once the key is no longer good for it."""
        # The key, not the token: a token opens a socket and may expire while it is open.
        principal = await self._service.authenticate_again(self._admitted)
        principal.require_scope(Scope.SPEECH)
        return principal

    def _flush(self, message: TextFlush) -> None:
        context = self._contexts.taking(message.context_id)
        if context is None:
            # Nothing to speak, or a cancel crossed it on the wire.
            self._reply("flush.done", message, context_id=message.context_id,
                        flush_id=message.flush_id, audio_ms=0, characters=0)  # fmt: skip
        elif not context.flush(FlushAsked(message.flush_id, message.event_id)):
            raise BufferFull(self._limits.buffer_characters)

    def _end(self, message: TextEnd) -> None:
        context = self._contexts.taking(message.context_id)
        if context is None:
            refused = self._contexts.refusal_forget(message.context_id)
            reason = FinishReason.ERROR if refused else FinishReason.COMPLETED
            self._reply("speech.done", message, context_id=message.context_id,
                        reason=reason.value, usage={"characters": 0})  # fmt: skip
        else:
            context.end(message.event_id)

    async def _cancel(self, message: ContextCancel) -> None:
        def answer(name: str, sent: dict[str, Any]) -> None:
            self._reply("context.cancelled", message, context_id=name, **sent)

        await self._contexts.cancel(message.context_id, answer)

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
        crossed: bool = False,
    ) -> None:
        """Say what went wrong; too many violations or a key no longer good end the socket.

        What `crossed` something of ours on the wire is no violation, whatever its code.
        Nothing of any context comes after an error that ends the socket.
        """
        unauthorized = problem.status == 401
        too_many = not crossed and self._violations.refused(problem.code)
        fatal = fatal or unauthorized or too_many
        if fatal:
            self._contexts.fall()
        self._outbox.post(
            error_encode(problem, event_id=event_id, context_id=context_id, fatal=fatal)
        )
        if unauthorized:
            self._close(CloseCode.UNAUTHORIZED, "invalid_api_key")
        elif too_many:
            self._close(CloseCode.POLICY, "too_many_errors")
