"""The web server: Daphne's, with connections of our own and an orderly stop."""

import asyncio
import os
import signal
import socket
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import structlog

# Importing it installs the asyncio reactor, which has to come before any other import of one.
from daphne.server import Server, twisted_loop  # isort:skip
from twisted.internet import reactor as _reactor
from twisted.logger import ILogObserver, LogEvent, globalLogBeginner
from zope.interface import implementer

from tts.denial import DENIAL
from voicehost.server.config import WebConfig
from voicehost.server.http import SpeechRequest, WebFactory
from voicehost.server.stop import TELL_SECONDS, until_none
from voicehost.server.websocket import SpeechSocketFactory, SpeechWebSocket

log = structlog.get_logger(__name__)
reactor: Any = _reactor

_LET_GO_SECONDS = 5.0
_GONE = {"disconnected": True}
Protocol = SpeechRequest | SpeechWebSocket


class WebServer(Server):  # type: ignore[misc]
    """Serves one ASGI application until SIGTERM, SIGINT or `stop`.

    `on_start` is awaited once it listens; its failure is logged, and requests
    are served all the same. `on_drain` is called when the stop begins, `on_cut`
    before connections are ended that still speak, `on_stop` awaited when no
    connection is left or the grace is over.
    """

    def __init__(
        self,
        application: Any,
        config: WebConfig,
        *,
        on_start: Callable[[], Awaitable[object]] | None = None,
        on_drain: Callable[[], None] = lambda: None,
        on_cut: Callable[[], None] = lambda: None,
        on_stop: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        super().__init__(
            application,
            endpoints=["see WebConfig"],
            signal_handlers=False,
            # A limit on a response's time would cut long streams with a clean ending.
            http_timeout=None,
            # A socket's age is the consumer's business.
            websocket_timeout=-1,
            websocket_connect_timeout=10,
            application_close_timeout=10,
            server_name="",
        )
        self.config = config
        self.stopping = False
        self.connections: dict[Protocol, dict[str, Any]] = {}
        self._on_start = on_start
        self._on_drain = on_drain
        self._on_cut = on_cut
        self._on_stop = on_stop
        self._ports: list[Any] = []
        self._start_task: asyncio.Task[None] | None = None
        self._stop_task: asyncio.Task[None] | None = None

    def run(self) -> None:
        """Listen and serve; returns when stopped. Raises OSError."""
        self.http_factory = WebFactory(self)
        self.ws_factory = SpeechSocketFactory(self)
        globalLogBeginner.beginLoggingTo([_discard], redirectStandardIO=False, discardBuffer=True)
        asyncio.set_event_loop(twisted_loop)
        self._listen()
        reactor.callLater(1, self.application_checker)
        reactor.callLater(2, self.timeout_checker)
        reactor.addSystemEventTrigger("before", "shutdown", self.kill_all_applications)
        for number in (signal.SIGTERM, signal.SIGINT):
            twisted_loop.add_signal_handler(number, self.stop_gracefully)
        self._start_task = twisted_loop.create_task(self._start(), name="web-start")
        reactor.run(installSignalHandlers=False)

    async def _start(self) -> None:
        if self._on_start is not None:
            try:
                await self._on_start()
            except Exception:
                log.exception("web_start_failed")

    @property
    def addresses(self) -> list[str]:
        """Where it listens."""
        return [_address(port.getHost()) for port in self._ports]

    def _listen(self) -> None:
        fd = self.config.fd
        with socket.socket(fileno=os.dup(fd)) as inherited:
            # Several processes accept from it: whoever comes late must not block.
            inherited.setblocking(False)
            family = inherited.family
        port = reactor.adoptStreamPort(fd, family, self.http_factory)
        # The reactor has a copy; this one would keep the address open after it stops.
        os.close(fd)
        self._ports.append(port)
        log.info("web_listening", addresses=self.addresses)

    # -- applications ------------------------------------------------------------

    def create_application(self, protocol: Protocol, scope: dict[str, Any]) -> Any:
        """Start the application of a connection, and hear of its end at once."""
        queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        if protocol not in self.connections:
            return None
        scope.setdefault("asgi", {"version": "3.0"})
        if isinstance(protocol, SpeechWebSocket):
            scope["extensions"] = {DENIAL: {}}
        application = self.application(
            scope=scope,
            receive=partial(_receive, protocol, queue),
            send=partial(self.handle_reply, protocol),
        )
        task = asyncio.ensure_future(application)
        task.add_done_callback(partial(self._application_done, protocol))
        self.connections[protocol]["application_instance"] = task
        return queue

    async def handle_reply(self, protocol: Protocol, message: dict[str, Any]) -> None:
        """Send a message and wait until the connection has room again.

        Raises TimeoutError when it had none for too long; it is gone then.
        """
        if self.connections.get(protocol, _GONE).get("disconnected"):
            # An application that sends in a loop and never looks whether anybody
            # is there would not let the loop tell it otherwise.
            await asyncio.sleep(0)
            return
        await super().handle_reply(protocol, message)
        flow = protocol.flow
        if flow is not None:
            await flow.drained()

    def _application_done(self, protocol: Protocol, task: "asyncio.Future[None]") -> None:
        details = self.connections.get(protocol)
        if details is None or details.get("disconnected"):
            return
        error = None if task.cancelled() else task.exception()
        protocol.application_ended(error)

    # -- the stop ----------------------------------------------------------------

    def stop_gracefully(self) -> None:
        """Accept nothing new, let streams finish within the grace, then end; twice: end now."""
        if self._stop_task is not None:
            self.stop()
            return
        self._stop_task = twisted_loop.create_task(self._stop(), name="web-stop")

    async def _stop(self) -> None:
        self.stopping = True
        log.info("web_stopping", connections=self._live())
        try:
            for port in self._ports:
                port.stopListening()
            self._on_drain()
            self.http_factory.end_when_answered()
            await until_none(self._live, self.config.grace_seconds)
            left = self._live()
            if left:
                log.warning("web_connections_cut", connections=left)
            await self._end_applications()
            for channel in self.http_factory.live():
                channel.cut()
            if self._on_stop is not None:
                await self._on_stop()
        finally:
            self.stop()

    def _live(self) -> int:
        """How many connections still have something to say, or have not sent all of it.

        A request is over for Daphne once its last byte is handed to the
        transport, which may hold it for as long as the client reads slowly. A
        WebSocket is over when its transport is.
        """
        return self._sockets() + len(self.http_factory.live())

    def _sockets(self) -> int:
        return sum(
            isinstance(protocol, SpeechWebSocket) and "disconnected" not in details
            for protocol, details in self.connections.items()
        )

    async def _end_applications(self) -> None:
        """Cancel what still runs, sockets once they have said why, and wait until it let go."""
        self._on_cut()
        tasks = self._applications(SpeechRequest)
        for task in tasks:
            task.cancel()
        await until_none(self._sockets, TELL_SECONDS)
        sockets = self._applications(SpeechWebSocket)
        for task in sockets:
            task.cancel()
        if tasks or sockets:
            await asyncio.wait({*tasks, *sockets}, timeout=_LET_GO_SECONDS)

    def kill_all_applications(self) -> Any:
        """Cancel what still runs when the reactor stops without a graceful stop."""
        self._on_cut()
        for task in self._applications(SpeechRequest | SpeechWebSocket):
            task.cancel()

    def _applications(self, kind: Any) -> "list[asyncio.Future[None]]":
        found = (
            details.get("application_instance")
            for protocol, details in self.connections.items()
            if isinstance(protocol, kind)
        )
        return [task for task in found if task is not None and not task.done()]


async def _receive(protocol: Protocol, queue: "asyncio.Queue[dict[str, Any]]") -> dict[str, Any]:
    message = await queue.get()
    if isinstance(protocol, SpeechWebSocket):
        protocol.message_taken(queue.qsize())
    return message


@implementer(ILogObserver)  # type: ignore[untyped-decorator]
def _discard(event: LogEvent) -> None:
    """Twisted's own log: lines about every connection."""


def _address(host: Any) -> str:
    if hasattr(host, "port"):
        name = f"[{host.host}]" if ":" in host.host else host.host
        return f"http://{name}:{host.port}"
    return f"unix:{host.name}"
