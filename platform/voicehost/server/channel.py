"""HTTP connections: heads that can be read in one way only, and clients that ended their half."""

from typing import Any

from twisted.internet.interfaces import IHalfCloseableProtocol
from twisted.internet.protocol import connectionDone
from twisted.python.failure import Failure
from twisted.web.http import HTTPChannel
from zope.interface import implementer

from voicehost.server.half_closed import CONTINUE, LEADING_ZERO, HalfClosed
from voicehost.server.head import Head, HeadAnswered, head_taken
from voicehost.server.refusal import (
    MAX_HEADERS,
    headers_too_large,
    line_too_long,
    malformed,
    too_slow,
)
from voicehost.server.socket_options import socket_set_up

_LENGTH_DIGITS = 20
"""More than any length has; Python's own limit is an exception in the middle of parsing."""


@implementer(IHalfCloseableProtocol)
class WebChannel(HTTPChannel):
    """One connection, which the server knows of, so that it can end the idle ones.

    A request that takes too long to arrive ends it: a byte now and then keeps
    Twisted's own timer from ever going off.
    """

    maxHeaders = MAX_HEADERS
    _deadline: Any = None
    # Bytes, whatever Twisted's own code lets mypy infer.
    _path: Any
    _half_closed: HalfClosed | None = None
    cut_shows = True
    """Whether a client sees by the bytes it got that its last response was cut short."""

    def connectionMade(self) -> None:
        """Set the socket up, and be counted."""
        super().connectionMade()  # type: ignore[no-untyped-call]
        self.factory.channels.add(self)
        transport: Any = self.transport
        socket_set_up(transport.socket, self.factory.server.config)

    def dataReceived(self, data: bytes) -> None:
        """Take bytes; the first of a request starts its time."""
        # What comes while a request is answered waits for its turn, without a deadline.
        if self._deadline is None and not self._handlingRequest:
            seconds = self.factory.server.config.request_seconds
            self._deadline = self.callLater(  # type: ignore[no-untyped-call]
                seconds, self.timeoutConnection
            )
        super().dataReceived(data)  # type: ignore[no-untyped-call]

    # -- the head ----------------------------------------------------------------

    def allHeadersReceived(self) -> None:
        """Go on with a head that is in order; answer any other here."""
        request = self.requests[-1]
        named = request.requestHeaders.getAllRawHeaders()
        headers = [(name.lower(), value) for name, values in named for value in values]
        version = self._version.removeprefix(b"HTTP/")
        try:
            head = head_taken(Head(self._command, self._path, version, headers))
        except HeadAnswered as answered:
            # Nothing is read any more, and so no body completes the request.
            self.length = None
            self.refuse(answered.response)
            return
        if self._half_closed is not None and request.requestHeaders.hasHeader(b"upgrade"):
            # A socket needs both halves.
            self.length = None
            self.loseConnection()  # type: ignore[no-untyped-call]
            return
        if head.target != self._path:
            self._path = head.target
            request.requestHeaders.setRawHeaders(b"host", head.values(b"host"))
        super().allHeadersReceived()  # type: ignore[no-untyped-call]

    def lineLengthExceeded(self, line: bytes) -> None:
        """One line alone is too long."""
        config = self.factory.server.config
        self.refuse(headers_too_large(config) if self._in_headers else line_too_long(config))

    def refuse(self, response: bytes) -> None:
        """Answer in place of the application, and end the connection."""
        self.write(response)  # type: ignore[no-untyped-call]
        self.loseConnection()  # type: ignore[no-untyped-call]

    def _maybeChooseTransferDecoder(self, header: bytes, data: bytes) -> bool:
        if header == b"Content-Length" and len(data) > _LENGTH_DIGITS:
            return self._failChooseTransferDecoder()
        return super()._maybeChooseTransferDecoder(header, data)  # type: ignore[no-untyped-call,no-any-return]

    def _respondToBadRequestAndDisconnect(self) -> None:
        """Say what is wrong, as far as Twisted tells."""
        config = self.factory.server.config
        if self._receivedHeaderSize > self.totalHeadersSize and not self._in_headers:
            self.refuse(line_too_long(config))
        elif (
            self._receivedHeaderSize > self.totalHeadersSize
            or self._receivedHeaderCount > self.maxHeaders
        ):
            self.refuse(headers_too_large(config))
        elif not self._in_headers:
            self.refuse(malformed("A request begins with a line such as 'GET /path HTTP/1.1'"))
        elif self.line_mode:
            self.refuse(malformed("A header, or the length that one gives, cannot be read"))
        else:
            self.refuse(malformed("The chunks of the body cannot be read"))

    @property
    def _in_headers(self) -> bool:
        """Whether a request's line was read already."""
        return hasattr(self, "_command")

    # -- the rest of a request ---------------------------------------------------

    def allContentReceived(self) -> None:
        """A request is whole: its response may take as long as it takes."""
        self._deadline_end()
        super().allContentReceived()  # type: ignore[no-untyped-call]

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """The connection is over."""
        self._deadline_end()
        if self._half_closed is not None:
            self._half_closed.end()
        self.factory.channels.discard(self)
        super().connectionLost(reason)  # type: ignore[no-untyped-call]

    def _deadline_end(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def timeoutConnection(self) -> None:
        """A request is not whole in time, or nothing comes: end the connection."""
        if self._deadline is not None:
            # Where the time itself is over, there is no call left to cancel.
            if self._deadline.active():
                self._deadline.cancel()
            self._deadline = None
            self.write(too_slow(self.factory.server.config))  # type: ignore[no-untyped-call]
        super().timeoutConnection()  # type: ignore[no-untyped-call]

    # -- clients that ended their half -------------------------------------------

    def readConnectionLost(self) -> None:
        """The client sends no more: it gets the answers to what it asked, if it is there still."""
        if not self._handlingRequest:
            self.loseConnection()  # type: ignore[no-untyped-call]
        elif self._half_closed is None:
            transport: Any = self.transport
            self._half_closed = HalfClosed(
                transport.fileno(),
                asked=self._ask(self.requests[0]),
                begun=lambda: not self.requests or bool(self.requests[0].startedWriting),
                gone=transport.abortConnection,
            )

    def writeConnectionLost(self) -> None:
        """Never: this half is ended together with the other."""

    def requestDone(self, request: Any) -> None:
        """An answer is whole; the last one of a client that sends no more ends the connection."""
        super().requestDone(request)  # type: ignore[no-untyped-call]
        if self._half_closed is not None and not self._handlingRequest:
            self.loseConnection()  # type: ignore[no-untyped-call]

    def _ask(self, request: Any) -> bool:
        """Write what is harmless, for a reset to come of it; False where nothing is."""
        if request.clientproto != b"HTTP/1.1" or request.method == b"HEAD":
            return False
        if request.startedWriting and not request.chunked:
            return False
        self.write(LEADING_ZERO if request.startedWriting else CONTINUE)  # type: ignore[no-untyped-call]
        return True

    # -- the connection's end ----------------------------------------------------

    @property
    def live(self) -> bool:
        """Whether the connection is HTTP's still: a WebSocket takes its transport over."""
        return getattr(self.transport, "protocol", None) is self

    def end_when_answered(self) -> None:
        """Take no further request; the connection ends once every byte is written."""
        self.persistent = False
        if not self.requests:
            self.loseConnection()  # type: ignore[no-untyped-call]

    def cut(self) -> None:
        """End a connection whose client may not have got everything, visibly."""
        if not self.cut_shows:
            self.forceAbortClient()  # type: ignore[no-untyped-call]
