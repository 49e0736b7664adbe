"""uvicorn's connections, within the same limits as our own server's."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from voicehost.server.config import WebConfig
from voicehost.server.refusal import too_large, too_slow
from voicehost.server.socket_options import socket_reset_at_close, socket_set_up

Event = Any
"""Of h11: a part of a request, or a mark that there is none now."""

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
        self.conn = WatchedParser(self._takes)
        self._received = 0
        self._arriving = False
        """Whether there is a request whose body is not whole."""
        self._idle: asyncio.TimerHandle | None = None
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Whoever connects has something to say soon."""
        super().connection_made(transport)
        self._idle_start()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is over."""
        self._timers_end()
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

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """The transport is the WebSocket's from here on."""
        self._timers_end()
        self._stall_end()
        super().handle_websocket_upgrade(event)

    @property
    def _answering(self) -> bool:
        # There is none before the first request, whatever uvicorn's annotation says.
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete

    def _takes(self, event: Event) -> bool:
        """Follow a request as it is read; False where it has been refused."""
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


class WatchedParser(h11.Connection):
    """Shows each event to `takes` first; what that does not take, uvicorn never sees."""

    def __init__(self, takes: Callable[[Event], bool]) -> None:
        super().__init__(h11.SERVER)
        self._takes = takes

    def next_event(self) -> Any:
        """The next event; NEED_DATA in place of one that is not taken."""
        event = super().next_event()
        return event if self._takes(event) else h11.NEED_DATA
