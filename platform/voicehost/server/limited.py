"""uvicorn's connections, within the same limits as our own server's."""

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from voicehost.server.config import WebConfig
from voicehost.server.half_closed import CONTINUE, LEADING_ZERO, HalfClosed
from voicehost.server.head import HeadAnswered
from voicehost.server.parser import Event, WatchedParser
from voicehost.server.refusal import (
    headers_too_large,
    line_too_long,
    malformed,
    too_large,
    too_slow,
)
from voicehost.server.socket_options import socket_reset_at_close, socket_set_up

if TYPE_CHECKING:
    _Base = H11Protocol
else:
    _Base = object


class StallEnd(_Base):
    """Ends a connection that takes nothing for `stall_seconds`; mixed into uvicorn's own."""

    def __init__(self, *args: Any, limits: WebConfig, **named: Any) -> None:
        super().__init__(*args, **named)
        self.limits = limits
        self._stall: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Set the socket up."""
        super().connection_made(transport)
        socket_set_up(transport.get_extra_info("socket"), self.limits)

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is over."""
        self._stall_end()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """The buffer is full: its time runs."""
        super().pause_writing()
        self._stall_start()

    def resume_writing(self) -> None:
        """There is room again."""
        self._stall_end()
        super().resume_writing()

    def _stalled(self) -> None:
        socket_reset_at_close(self.transport.get_extra_info("socket"))
        self.transport.abort()

    def _stall_start(self) -> None:
        self._stall_end()
        self._stall = self.loop.call_later(self.limits.stall_seconds, self._stalled)

    def _stall_end(self) -> None:
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None


class LimitedSocket(StallEnd, WebSocketsSansIOProtocol):  # type: ignore[misc]  # for mypy StallEnd is HTTP's
    """A WebSocket; uvicorn itself bounds its messages."""


class LimitedRequests(StallEnd, H11Protocol):
    """A connection whose requests are bounded in length and in the time they take to arrive."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.app = partial(_run_yielding, self, self.app)
        self.conn: WatchedParser = WatchedParser(self._takes, self.limits)
        self._received = 0
        self._arriving = False
        """Whether there is a request whose body is not whole."""
        self._idle: asyncio.TimerHandle | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._half_closed: HalfClosed | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Whoever connects has something to say soon."""
        super().connection_made(transport)
        self._idle_start()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is over."""
        self._timers_end()
        if self._half_closed is not None:
            self._half_closed.end()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes; the first of a request starts its time."""
        # What comes while a request is answered waits for its turn, without a deadline.
        if self._arriving or not self._answering:
            self._time_start()
        super().data_received(data)

    def on_response_complete(self) -> None:
        """The rest is the kernel's to deliver, or to give up, and the sender waits no longer."""
        self._stall_end()
        super().on_response_complete()
        if self._half_closed is not None and not self._answering:
            # There is no other request: one that was read before is answered already.
            self.transport.close()

    def eof_received(self) -> bool:  # type: ignore[override]
        """The client sends no more: it gets the answers to what it asked, if it is there still."""
        if self._arriving or not self._answering:
            return False
        if self._half_closed is None:
            cycle = self.cycle
            self._half_closed = HalfClosed(
                self.transport.get_extra_info("socket").fileno(),
                asked=self._ask(cycle),
                begun=lambda: cycle.response_started,
                gone=self.transport.abort,
            )
        return True

    def _ask(self, cycle: RequestResponseCycle) -> bool:
        """Write what is harmless, for a reset to come of it; False where nothing is."""
        if cycle.scope["http_version"] != "1.1" or cycle.scope["method"] == "HEAD":
            return False
        if cycle.response_started and not self.conn.chunked:
            return False
        self.transport.write(LEADING_ZERO if cycle.response_started else CONTINUE)
        return True

    def send_400_response(self, msg: str) -> None:
        """Answer what h11 cannot read; uvicorn's own words are plain text."""
        if self.conn.too_long and not self._arriving:
            line = self.conn.line_is_whole
            self._refuse(headers_too_large(self.limits) if line else line_too_long(self.limits))
        else:
            self._refuse(malformed(f"The request cannot be read: {self.conn.failure}"))

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """The transport is the WebSocket's from here on."""
        self._timers_end()
        self._stall_end()
        if self._half_closed is not None:
            # A socket needs both halves.
            self.transport.close()
            return
        super().handle_websocket_upgrade(event)
        if self.flow.write_paused:
            # By the response before; the transport says so once only.
            self.transport.get_protocol().pause_writing()

    @property
    def _answering(self) -> bool:
        # There is none before the first request, whatever uvicorn's annotation says.
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete

    def _takes(self, event: Event) -> bool:
        """Follow a request as it is read; False where it has been refused."""
        if isinstance(event, HeadAnswered):
            self._refuse(event.response)
            return False
        if isinstance(event, h11.Request):
            announced = int(dict(event.headers).get(b"content-length", 0))
            if announced > self.limits.max_body:
                self._refuse(too_large(self.limits))
                return False
            # Pipelined, it was read while the one before was answered.
            self._time_start()
            if self.flow.write_paused:
                # Of the response before; the transport says so once only.
                self._stall_start()
            self._received, self._arriving = 0, True
        elif isinstance(event, h11.Data):
            self._received += len(event.data)
            if self._received > self.limits.max_body:
                self._refuse(too_large(self.limits))
                return False
        elif isinstance(event, h11.EndOfMessage):
            self._arriving = False
            self._timers_end()
        return True

    def _time_start(self) -> None:
        self._idle_start()
        if self._deadline is None:
            self._deadline = self.loop.call_later(self.limits.request_seconds, self._too_slow)

    def _idle_start(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
        self._idle = self.loop.call_later(self.limits.idle_seconds, self._too_slow)

    def _timers_end(self) -> None:
        for timer in (self._idle, self._deadline):
            if timer is not None:
                timer.cancel()
        self._idle = self._deadline = None

    def _too_slow(self) -> None:
        if self._deadline is None:
            self.transport.close()
        else:
            self._refuse(too_slow(self.limits))

    def _refuse(self, response: bytes) -> None:
        """Answer in place of the application, unless it has begun to, and end the connection."""
        self._timers_end()
        begun = self._arriving and self.cycle.response_started
        if self._arriving:
            # The application hears that nobody is there, and what it still sends goes nowhere.
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if not begun:
            self.transport.write(response)
        self.transport.close()


async def _run_yielding(
    connection: LimitedRequests, app: Any, scope: Any, receive: Any, send: Any
) -> None:
    """Run an application whose `send` lets others run where nobody is there any more.

    It returns at once then, and one that sends in a loop would keep the event
    loop from telling it of the end.
    """

    async def send_yielding(message: Any) -> None:
        if connection.transport.is_closing():
            await asyncio.sleep(0)
        await send(message)

    await app(scope, receive, send_yielding)
