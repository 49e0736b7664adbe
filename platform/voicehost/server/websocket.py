"""WebSocket connections: senders that wait, and readers that are not flooded."""

from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from autobahn.websocket.types import ConnectionDeny
from daphne.ws_protocol import WebSocketFactory, WebSocketProtocol

from tts.denial import DENIAL
from voicehost.server.flow import TransportFlow

if TYPE_CHECKING:
    from voicehost.server.server import WebServer

# A close frame holds 125 bytes, two of which are the code.
_MAX_REASON = 123
# What a client sent before it saw our close frame must be read first: closing a connection with
# unread bytes resets it, and the reset may overtake the code that says why.
_CLOSE_SECONDS = 5.0


class SpeechWebSocket(WebSocketProtocol):  # type: ignore[misc]
    """A socket that takes no more than its client reads and its consumer handles."""

    def __init__(self) -> None:
        super().__init__()
        self.flow: TransportFlow | None = None
        self._reading = True
        self._denial: dict[str, Any] | None = None
        self._denial_body = b""

    def onOpen(self) -> None:
        """Take the HTTP channel's place as the transport's producer."""
        self.flow = TransportFlow(
            self.factory.server_class.config.stall_seconds, self.transport.abortConnection
        )
        self.transport.unregisterProducer()
        self.transport.registerProducer(self.flow, True)
        super().onOpen()

    def onMessage(self, payload: bytes, isBinary: bool) -> None:
        """Queue a message; stop reading while too many wait.

        What comes after our close frame is dropped.
        """
        if self.state != self.STATE_OPEN:
            return
        super().onMessage(payload, isBinary)
        limit = self.factory.server_class.config.max_waiting
        if self._reading and self.application_queue.qsize() >= limit:
            self._reading = False
            self.transport.pauseProducing()

    def message_taken(self, waiting: int) -> None:
        """The consumer took a message: read on when few are left."""
        if waiting <= self.factory.server_class.config.max_waiting // 4:
            self._read_on()

    def sendCloseFrame(self, *args: Any, **kwargs: Any) -> None:
        """Send it, and read on: the client's own close frame is behind what it sent until then."""
        super().sendCloseFrame(*args, **kwargs)
        self._read_on()

    def _read_on(self) -> None:
        if not self._reading:
            self._reading = True
            if self.transport is not None and self.state in (self.STATE_OPEN, self.STATE_CLOSING):
                self.transport.resumeProducing()

    def handle_reply(self, message: dict[str, Any]) -> None:
        """Pass a message on; close codes that Autobahn keeps for itself are sent all the same.

        RFC 6455 (7.4.1) lets endpoints send 1008, 1009, 1011 and 1013 too. A socket
        that was not accepted yet may be answered by an HTTP response instead.
        """
        if message.get("type") == f"{DENIAL}.start":
            self._denial = message
        elif message.get("type") == f"{DENIAL}.body":
            self._denial_body += message.get("body", b"")
            if not message.get("more_body", False):
                self._deny()
        elif message.get("type") == "websocket.close" and self.state != self.STATE_CONNECTING:
            reason = (message.get("reason") or "").encode()[:_MAX_REASON]
            self.sendCloseFrame(code=message.get("code") or 1000, reasonUtf8=reason)
        else:
            super().handle_reply(message)

    def _deny(self) -> None:
        """Refuse the handshake; Autobahn then sends the response by `sendHttpErrorResponse`."""
        if self._denial is not None and hasattr(self, "handshake_deferred"):
            status = self._denial["status"]
            denial = ConnectionDeny(status, HTTPStatus(status).phrase)  # type: ignore[no-untyped-call]
            self.handshake_deferred.errback(denial)
            del self.handshake_deferred
            self.server.protocol_disconnected(self)

    def sendHttpErrorResponse(self, code: int, reason: str, responseHeaders: Any = None) -> None:
        """Send the application's own response where it gave one."""
        if self._denial is None:
            super().sendHttpErrorResponse(code, reason, responseHeaders)
            return
        head = b"HTTP/1.1 %d %s\r\nconnection: close\r\n" % (code, reason.encode())
        fields = [b"%s: %s\r\n" % field for field in self._denial.get("headers", ())]
        self.sendData(head + b"".join(fields) + b"\r\n" + self._denial_body)

    def onClose(self, wasClean: bool, code: int, reason: str) -> None:
        """Wake whoever still waits to send."""
        if self.flow is not None:
            self.flow.stopProducing()
        super().onClose(wasClean, code, reason)

    def application_ended(self, error: BaseException | None) -> None:
        """The consumer is over: a socket must not stay open without one."""
        if self.state == self.STATE_CONNECTING:
            if hasattr(self, "handshake_deferred"):
                self.handle_exception(error or RuntimeError("the application did not answer"))
                del self.handshake_deferred
        elif self.state == self.STATE_OPEN:
            stopping = self.factory.server_class.stopping
            self.sendCloseFrame(code=1001 if stopping else 1000 if error is None else 1011)


class SpeechSocketFactory(WebSocketFactory):  # type: ignore[misc]
    """Makes our sockets."""

    protocol = SpeechWebSocket

    def __init__(self, server: "WebServer") -> None:
        super().__init__(server, server=server.server_name)
        self.setProtocolOptions(
            autoPingTimeout=server.ping_timeout,
            allowNullOrigin=True,
            # Say why, with a close code, before the connection goes.
            failByDrop=False,
            closeHandshakeTimeout=_CLOSE_SECONDS,
            openHandshakeTimeout=server.websocket_handshake_timeout,
            maxMessagePayloadSize=server.config.max_message,
            maxFramePayloadSize=server.config.max_message,
        )
