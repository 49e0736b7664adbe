"""HTTP requests: bounded bodies, senders that wait, responses that end or visibly break."""

from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from daphne.http_protocol import HTTPFactory, WebRequest

from voicehost.server.channel import WebChannel
from voicehost.server.flow import TransportFlow
from voicehost.server.refusal import envelope, too_large

if TYPE_CHECKING:
    from voicehost.server.server import WebServer


class SpeechRequest(WebRequest):  # type: ignore[misc]
    """A request whose application waits for the transport and cannot leave it hanging."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # Forms are the application's: parsed here they would keep the event loop for seconds,
        # whoever sends them, and Twisted would answer broken ones by itself.
        super().__init__(*args, parsePOSTFormSubmission=False, **kwargs)
        self._received_bytes = 0
        self._refused = False
        self.flow = TransportFlow(self.server.config.stall_seconds, self._abort)

    # -- the request's body ------------------------------------------------------

    def gotLength(self, length: int | None) -> None:
        """Refuse a body that announces itself as too long, before it is read."""
        super().gotLength(length)
        if length is not None and length > self.server.config.max_body:
            self._refuse()

    def handleContentChunk(self, data: bytes) -> None:
        """Refuse a body that turns out to be too long."""
        self._received_bytes += len(data)
        if self._refused:
            return
        if self._received_bytes > self.server.config.max_body:
            self._refuse()
        else:
            super().handleContentChunk(data)

    def process(self) -> Any:
        """Run the application, unless the answer was given already."""
        return None if self._refused else super().process()

    def _refuse(self) -> None:
        self._refused = True
        self.channel.refuse(too_large(self.server.config))

    # -- the response ------------------------------------------------------------

    def handle_reply(self, message: dict[str, Any]) -> None:
        """Pass a message on; the first one makes the connection's buffer count."""
        if self.finished or self.channel is None:
            return
        if message.get("type") == "http.response.start" and not self._response_started:
            self.registerProducer(self.flow, True)
            if self.server.stopping:
                self.channel.persistent = 0
                self.responseHeaders.setRawHeaders(b"connection", [b"close"])
        super().handle_reply(message)

    def basic_error(self, status: int, status_text: bytes, body: str) -> None:
        """Answer in place of the application, in the API's envelope."""
        code = "malformed_request" if status == HTTPStatus.BAD_REQUEST else "internal_error"
        headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
        self.channel.persistent = False
        self.handle_reply({"type": "http.response.start", "status": status, "headers": headers})
        content = envelope(status, code, body)
        self.handle_reply({"type": "http.response.body", "body": content})

    def finish(self) -> None:
        """End the response; its producer must be gone by then.

        A producer that is gone is never resumed, so whoever waits for room is let go here.
        """
        if self.producer is not None:
            self.unregisterProducer()
        self.flow.stopProducing()
        if self.channel is not None:
            length = self.responseHeaders.hasHeader(b"content-length")
            self.channel.cut_shows = bool(self.chunked or length)
        super().finish()

    def connectionLost(self, reason: Any) -> None:
        """Wake whoever still waits to send."""
        self.flow.stopProducing()
        super().connectionLost(reason)

    def application_ended(self, error: BaseException | None) -> None:
        """The application is over: whatever it left open is closed here.

        A response that was begun and not completed must not look complete, so
        its connection ends without the last chunk, or is reset where nothing
        else would show it.
        """
        if self.finished or self.channel is None:
            return
        if not self._response_started:
            self.basic_error(500, b"Internal Server Error", "The application did not answer.")
            return
        self.flow.stopProducing()
        if self.chunked:
            self.channel.loseConnection()
        else:
            self._abort()

    def handle_exception(self, exception: BaseException) -> None:
        """Daphne would start a second response here."""
        self.application_ended(exception)

    def _abort(self) -> None:
        if self.channel is not None:
            self.channel.transport.abortConnection()


class WebFactory(HTTPFactory):  # type: ignore[misc]
    """Makes our channels and requests, and knows the open ones."""

    protocol = WebChannel

    def __init__(self, server: "WebServer") -> None:
        super().__init__(server)
        self.timeOut = server.config.idle_seconds
        self.channels: set[WebChannel] = set()

    def buildProtocol(self, addr: Any) -> Any:
        """A channel that makes our requests."""
        channel = super().buildProtocol(addr)
        channel.requestFactory = SpeechRequest
        channel.totalHeadersSize = channel.MAX_LENGTH = self.server.config.max_head
        return channel

    def log(self, request: Any) -> None:
        """Write no access line: formatting one costs more than it tells."""

    def live(self) -> list[WebChannel]:
        """The open connections, also those whose response waits to be read."""
        return [channel for channel in self.channels if channel.live]

    def end_when_answered(self) -> None:
        """End each connection once what it was asked is answered."""
        for channel in self.live():
            channel.end_when_answered()
