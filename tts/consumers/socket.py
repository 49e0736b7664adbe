"""`ws /v1/audio/speech/stream`: the connection that speaks the protocol `tts.v1`."""

import asyncio
import contextlib
import secrets
from collections.abc import Awaitable, Callable
from typing import Any, cast

from channels.exceptions import StopConsumer

from tenants.choices import Scope
from tenants.principal import Principal
from tts.consumers.base import (
    Message,
    Receive,
    SpeechConsumer,
    problem_logged,
    service_of_process,
)
from tts.consumers.credentials import SocketCredentials, origin_allowed
from tts.consumers.dialogue import Dialogue
from tts.consumers.outbox import Outbox, OutboxFull
from tts.consumers.protocol import SUBPROTOCOL, CloseCode, error_encode, message_encode
from tts.consumers.settings import SocketLimits, limits_describe
from tts.speech.errors import KeyInAddress, OriginRefused, ServerStopping, UnknownSubprotocol
from tts.speech.problem import Problem
from tts.speech.service import SpeechService

CLOSE_SECONDS = 5.0
# Ends in which what was asked for is still spoken.
GRACEFUL = (CloseCode.NORMAL, CloseCode.GOING_AWAY)


class SpeechSocketConsumer(SpeechConsumer):
    """One WebSocket, from its handshake to its close.

    It is accepted before it is refused: closing before that gives clients a
    bare HTTP 403 that says nothing.
    """

    def __init__(
        self,
        service: Callable[[], Awaitable[SpeechService]] = service_of_process,
        limits: SocketLimits | None = None,
    ) -> None:
        super().__init__(service)
        self._limits = limits or SocketLimits()
        self._outbox = Outbox(self._transmit)
        self._dialogue: Dialogue | None = None
        self._writer: asyncio.Task[None] | None = None
        self._watcher: asyncio.Task[None] | None = None
        self._closing: tuple[CloseCode, str] | None = None
        self._close_wanted = asyncio.Event()
        self._client_gone = False
        self._heard_at = 0.0

    # -- messages of the server --------------------------------------------------

    def sources(self, receive: Receive) -> list[Receive]:
        """The client, and our own wish to close."""
        return [receive, self._own_close]

    async def websocket_connect(self, message: Message) -> None:
        """Accept, then say who may not stay."""
        credentials = SocketCredentials.read(cast("Message", self.scope))
        await self._send({"type": "websocket.accept", "subprotocol": credentials.subprotocol})
        try:
            service = await self._service()
            principal = await self._admit(service, credentials)
        except Exception as error:
            problem = problem_logged(error, "socket_not_opened")
            await self._transmit(error_encode(problem, fatal=True))
            await self._close_now(_close_code(problem))
            raise StopConsumer from error
        self._heard_at = asyncio.get_running_loop().time()
        self._dialogue = Dialogue(service, principal, self._outbox, self._limits, self._close)
        self._outbox.post(
            message_encode(
                "session.created",
                session={"id": session_id_new(), **self._dialogue.settings.describe()},
                limits=limits_describe(self._limits),
            )
        )
        self._writer = asyncio.create_task(self._outbox.run(), name="socket-writer")
        self._writer.add_done_callback(lambda _: self._close_wanted.set())
        self._watcher = asyncio.create_task(self._watch(service), name="socket-watcher")

    async def websocket_receive(self, message: Message) -> None:
        """Handle one frame."""
        dialogue = self._dialogue
        if dialogue is None or self._fatal:
            return
        self._heard_at = asyncio.get_running_loop().time()
        text = message.get("text")
        try:
            if text is not None:
                await dialogue.receive(text)
                return
            dialogue.error(
                Problem(
                    400,
                    "Binary frames mean nothing here; send JSON as text.",
                    code="unexpected_binary",
                ),
                fatal=True,
            )
            self._close(CloseCode.UNSUPPORTED_DATA, "unexpected_binary")
        except OutboxFull:
            self._close(CloseCode.OVERLOADED, "client_does_not_read")

    async def websocket_disconnect(self, message: Message) -> None:
        """The client is gone: `closed` frees everything."""
        self._client_gone = True
        raise StopConsumer

    async def socket_closed(self, message: Message) -> None:
        """We have closed it ourselves."""
        raise StopConsumer

    async def closed(self) -> None:
        """Stop the contexts and both tasks, whatever ended the connection."""
        tasks = [task for task in (self._watcher, self._writer) if task is not None]
        for task in tasks:
            task.cancel()
        try:
            if self._dialogue is not None:
                await self._dialogue.abandon(self._fatal)
        finally:
            await asyncio.gather(*tasks, return_exceptions=True)

    # -- closing -----------------------------------------------------------------

    def _close(self, code: CloseCode, reason: str) -> None:
        """Wish to close; the first reason counts, but a fatal one comes before one that waits."""
        if self._closing is None:
            self._closing = (code, reason)
            self._close_wanted.set()
        elif not self._fatal and code not in GRACEFUL:
            self._closing = (code, reason)
            if self._dialogue is not None:
                self._dialogue.break_off(reason)

    @property
    def _fatal(self) -> str:
        """Why we end what still speaks; empty when we do not."""
        if self._closing is None or self._closing[0] in GRACEFUL:
            return ""
        return self._closing[1]

    async def _own_close(self) -> Message:
        """Wait for our own wish to close; finish what was asked for, say why, close."""
        await self._close_wanted.wait()
        if self._dialogue is not None and self._writer is not None and self._closing is not None:
            if not self._fatal:
                await self._dialogue.finish()
            await self._dialogue.abandon(self._fatal)
            code, reason = self._closing
            with contextlib.suppress(OutboxFull):
                self._outbox.post(message_encode("session.closing", reason=reason))
            self._outbox.finish()
            await asyncio.wait({self._writer}, timeout=CLOSE_SECONDS)
            await self._close_now(code)
        return {"type": "socket.closed"}

    async def _close_now(self, code: CloseCode) -> None:
        if not self._client_gone:
            with contextlib.suppress(OSError, RuntimeError):
                await self._send({"type": "websocket.close", "code": int(code)})

    async def _send(self, message: Message) -> None:
        await self.base_send(cast("Any", message))

    async def _transmit(self, data: str | bytes) -> None:
        kind = "text" if isinstance(data, str) else "bytes"
        await self._send({"type": "websocket.send", kind: data})

    async def _watch(self, service: SpeechService) -> None:
        """End a socket on which nothing happens, and every one when the server stops.

        It may speak to the end of what it began, unless the server waits no longer.
        """
        loop = asyncio.get_running_loop()
        draining = asyncio.ensure_future(service.draining.wait())
        try:
            while not draining.done():
                left = self._heard_at + self._limits.idle_seconds - loop.time()
                speaking = self._dialogue is not None and self._dialogue.speaking
                if left <= 0 and not speaking:
                    self._close(CloseCode.IDLE, "idle")
                    return
                pause = left if left > 0 else self._limits.idle_seconds
                await asyncio.wait({draining}, timeout=pause)
        finally:
            draining.cancel()
        if self._dialogue is not None:
            self._dialogue.drain()
            self._close(CloseCode.GOING_AWAY, ServerStopping.code)
            await service.cutting.wait()
            self._dialogue.cut()

    # -- admission ---------------------------------------------------------------

    async def _admit(self, service: SpeechService, credentials: SocketCredentials) -> Principal:
        """Who connects.

        Raises ServerStopping, OriginRefused, UnknownSubprotocol, KeyInAddress and what keys
        and tokens raise.
        """
        service.check_open()
        if not origin_allowed(cast("Message", self.scope)):
            raise OriginRefused
        if credentials.unknown_subprotocol:
            raise UnknownSubprotocol(SUBPROTOCOL)
        if credentials.key_in_address:
            raise KeyInAddress
        principal = await service.authenticate(credentials.secret)
        principal.require_scope(Scope.SPEECH)
        return principal


def session_id_new() -> str:
    """A fresh id of a socket's session."""
    return f"sess_{secrets.token_hex(12)}"


def _close_code(problem: Problem) -> CloseCode:
    """The close that follows a handshake's error."""
    if problem.code == ServerStopping.code:
        return CloseCode.GOING_AWAY
    codes = {
        401: CloseCode.UNAUTHORIZED,
        403: CloseCode.FORBIDDEN,
        503: CloseCode.OVERLOADED,
    }
    default = CloseCode.POLICY if problem.status < 500 else CloseCode.INTERNAL
    return codes.get(problem.status, default)
