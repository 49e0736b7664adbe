"""uvicorn, with the orderly stop and the limits of our own server."""

import asyncio
import signal
import socket
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

import structlog
import uvicorn
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from voicehost.server.config import WebConfig
from voicehost.server.limited import LimitedRequests, LimitedSocket
from voicehost.server.stop import TELL_SECONDS, until_none

log = structlog.get_logger(__name__)

_CUT_SECONDS = 1
"""What uvicorn itself may wait for, once the grace is over."""


class DrainingServer(uvicorn.Server):
    """Serves one ASGI application until SIGTERM or SIGINT; a second signal ends it at once.

    `on_drain` is called on the event loop when the first signal comes, `on_cut`
    before connections are ended that still speak. uvicorn by itself tells the
    application only when every connection is closed, and closes sockets before
    they have said what they were asked to say.
    """

    def __init__(
        self,
        application: Any,
        config: WebConfig,
        *,
        on_drain: Callable[[], None],
        on_cut: Callable[[], None],
    ) -> None:
        # Called as classes are, with uvicorn's own arguments.
        requests: Any = partial(LimitedRequests, limits=config)
        sockets: Any = partial(LimitedSocket, limits=config)
        super().__init__(
            uvicorn.Config(
                application,
                http=requests,
                lifespan="on",
                log_config=None,
                # Its lines about sockets hold the whole address, and with it a token.
                log_level="warning",
                access_log=False,
                server_header=False,
                ws=sockets,
                ws_max_size=config.max_message,
                ws_max_queue=config.max_waiting,
                timeout_keep_alive=int(config.idle_seconds),
                timeout_graceful_shutdown=_CUT_SECONDS,
            )
        )
        self._grace_seconds = config.grace_seconds
        self._on_drain = on_drain
        self._on_cut = on_cut
        self._loop: asyncio.AbstractEventLoop | None = None

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve; returns when stopped."""
        self._loop = asyncio.get_running_loop()
        await super().serve(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin the stop. Not noted for uvicorn, which would die of the signal in the end."""
        if self.should_exit:
            self.force_exit = True
            return
        self.should_exit = True
        if self._loop is not None:
            # A signal may come at any point of the loop's own code.
            self._loop.call_soon_threadsafe(self._drain, signal.Signals(sig).name)

    def _drain(self, why: str) -> None:
        log.info("web_stopping", connections=len(self.server_state.connections), signal=why)
        self._on_drain()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept nothing new, let streams finish within the grace, then end."""
        for server in self.servers:
            server.close()
        for listening in sockets or []:
            listening.close()
        self._idle_close()
        await until_none(self._awaited, self._grace_seconds)
        connections = self.server_state.connections
        if connections:
            log.warning("web_connections_cut", connections=len(connections))
            self._on_cut()
            self._cut()
            # uvicorn closes sockets that have not done so themselves without a word.
            await until_none(self._awaited, TELL_SECONDS)
        await super().shutdown(sockets)

    def _awaited(self) -> int:
        """How many connections the stop waits for: none once a second signal came."""
        return 0 if self.force_exit else len(self.server_state.connections)

    def _idle_close(self) -> None:
        """End connections without a request, and the others after theirs.

        Not WebSockets: their consumers close them when they have said everything.
        """
        for connection in list(self.server_state.connections):
            if not isinstance(connection, WebSocketsSansIOProtocol):
                connection.shutdown()

    def _cut(self) -> None:
        """Close what still speaks without its end, and so visibly; its consumer hears of it."""
        for connection in list(self.server_state.connections):
            if not isinstance(connection, WebSocketsSansIOProtocol):
                connection.transport.close()
