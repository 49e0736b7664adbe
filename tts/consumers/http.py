"""`POST /v1/audio/speech`, with sending, credit and disconnects in its own hands."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import structlog
from channels.exceptions import StopConsumer

from tenants.choices import Scope
from tts.consumers.base import STALL_SECONDS, Message, Receive, SpeechConsumer, service_of_process
from tts.consumers.cors import Headers, cors_headers
from tts.consumers.response import ResponseSender, SpeechBody, body_for
from tts.engine.event import AudioChunk, SpeechFinished
from tts.engine.traces import trace_of
from tts.speech.encoding import SpeechEncoder
from tts.speech.errors import (
    BodyTooLarge,
    ListenerStalled,
    MethodNotAllowed,
    UnsupportedMedia,
)
from tts.speech.order import SpeechOrder, order_from_json
from tts.speech.problem import problem_of
from tts.speech.service import SpeechService, request_id_new
from tts.speech.session import SpeechSession

log = structlog.get_logger(__name__)

MAX_BODY = 2 * 2**20
METHODS = ("POST", "OPTIONS")


class SpeechHttpConsumer(SpeechConsumer):
    """One request and its response.

    The response runs in a task of its own while messages are read on, so that
    `http.disconnect` cancels it at once. A response that cannot be completed is
    left incomplete: the server then breaks the connection, and the client sees
    a broken transfer instead of a clean end.
    """

    def __init__(
        self,
        service: Callable[[], Awaitable[SpeechService]] = service_of_process,
        stall_seconds: float = STALL_SECONDS,
        max_body: int = MAX_BODY,
    ) -> None:
        super().__init__(service)
        self.request_id = request_id_new()
        self._stall_seconds = stall_seconds
        self._max_body = max_body
        self._body = bytearray()
        self._cors: Headers = []
        self._task: asyncio.Task[None] | None = None
        self._answered = asyncio.Event()
        self._started = False

    # -- messages ----------------------------------------------------------------

    def sources(self, receive: Receive) -> list[Receive]:
        """The client, and the end of our own response."""
        return [receive, self._response_end]

    async def http_request(self, message: Message) -> None:
        """Gather the body; answer when it is whole, or as soon as it is too long."""
        if self._task is not None:
            return
        self._body += message.get("body", b"")
        too_long = len(self._body) > self._max_body
        if too_long or not message.get("more_body", False):
            self._task = asyncio.create_task(self._respond(too_long), name="speech-response")

    async def http_disconnect(self, message: Message) -> None:
        """The client is gone: `closed` cancels what still runs."""
        raise StopConsumer

    async def response_finished(self, message: Message) -> None:
        """The response is sent, or given up."""
        raise StopConsumer

    async def closed(self) -> None:
        """Cancel the response where it still runs and wait until it has let go."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _response_end(self) -> Message:
        await self._answered.wait()
        return {"type": "response.finished"}

    # -- the response ------------------------------------------------------------

    async def _respond(self, too_long: bool) -> None:
        with structlog.contextvars.bound_contextvars(request_id=self.request_id):
            try:
                self._cors, preflight = cors_headers(
                    self.connection["method"], self.connection["path"], self.connection["headers"]
                )
                if preflight:
                    await self._send_whole(200, [], b"")
                elif self.connection["method"] == "OPTIONS":
                    await self._send_whole(204, [(b"allow", ", ".join(METHODS).encode())], b"")
                else:
                    await self._speak(too_long)
            except Exception as error:  # noqa: BLE001 - every error becomes an answer
                await self._fail(error)
            finally:
                self._answered.set()

    async def _speak(self, too_long: bool) -> None:
        self._check_method()
        service = await self._service()
        received = service.clock()
        principal = await service.authenticate(self.bearer)
        principal.require_scope(Scope.SPEECH)
        self._check_body()
        if too_long:
            raise BodyTooLarge(self._max_body)
        order = order_from_json(bytes(self._body))
        self._body.clear()
        session = service.session(
            principal,
            order,
            order.input,
            transport="http",
            request_id=self.request_id,
            received=received,
        )
        async with session as speech:
            await self._stream(service, order, speech)

    def _check_method(self) -> None:
        if self.connection["method"] != "POST":
            raise MethodNotAllowed(self.connection["method"], METHODS)

    def _check_body(self) -> None:
        """Raise for a type or encoding that is not taken."""
        media, _, parameters = self.header("content-type").partition(";")
        if media.strip().lower() != "application/json":
            raise UnsupportedMedia("Send the body as Content-Type: application/json.")
        charset = parameters.lower().partition("charset=")[2].strip(' "')
        if charset not in {"", "utf-8", "utf8"}:
            raise UnsupportedMedia("Send the body in UTF-8.")
        if self.header("content-encoding").lower() not in {"", "identity"}:
            raise UnsupportedMedia("Send the body without a Content-Encoding.")

    async def _stream(
        self, service: SpeechService, order: SpeechOrder, speech: SpeechSession
    ) -> None:
        body: SpeechBody | None = None
        sender = ResponseSender(
            self.send, lambda: self._audio_head(speech, body), self._stall_seconds
        )
        body = body_for(order, sender)
        response = SpeechResponse(service, order, speech, body)
        try:
            await response.run()
        except Exception as error:
            self._started = sender.started
            if not sender.started:
                raise
            if not isinstance(error, ListenerStalled):
                # Whoever hears of the end may ask again at once.
                await speech.settle(error)
                await body.fail(problem_of(error))
            # The session still has to learn what ended it.
            raise
        finally:
            await body.close()

    def _audio_head(self, speech: SpeechSession, body: SpeechBody | None) -> dict[str, Any]:
        assert body is not None and speech.plan is not None  # noqa: S101, PT018 - set before any audio
        account = speech.account
        ttfa = account.first_chunk_seconds or 0.0
        timing = f"queue;dur={account.queue_seconds * 1000:.1f}, ttfa;dur={ttfa * 1000:.1f}"
        headers = {
            "content-type": body.content_type,
            "cache-control": "no-cache",
            # Or nginx would hold the stream back until its buffers are full.
            "x-accel-buffering": "no",
            "server-timing": timing,
            "x-quality-tier": speech.plan.tier.name,
            "x-model-version": speech.plan.routed.version,
            **speech.headers(),
        }
        return self._head(200, [(name.encode(), value.encode()) for name, value in headers.items()])

    async def _fail(self, error: Exception) -> None:
        """Log the error, and answer with it unless the response has begun."""
        problem = problem_of(error)
        unexpected = problem.status == 500
        log.log(
            logging.ERROR if unexpected else logging.INFO,
            "speech_broken_off" if self._started else "speech_refused",
            status=problem.status,
            code=problem.code,
            client_request_id=self.client_request_id,
            trace=trace_of(error) if unexpected else None,
        )
        if self._started:
            return
        body = json.dumps(problem.envelope()).encode()
        headers = [(b"content-type", b"application/json")]
        headers += [(name.encode(), value.encode()) for name, value in problem.headers().items()]
        await self._send_whole(problem.status, headers, body)

    async def _send_whole(self, status: int, headers: Headers, body: bytes) -> None:
        if status != 204:
            headers = [*headers, (b"content-length", str(len(body)).encode())]
        if self.connection["method"] == "HEAD":
            body = b""
        await self.send(self._head(status, headers))
        await self.send({"type": "http.response.body", "body": body, "more_body": False})

    def _head(self, status: int, headers: Headers) -> dict[str, Any]:
        return {
            "type": "http.response.start",
            "status": status,
            "headers": [*headers, (b"x-request-id", self.request_id.encode()), *self._cors],
        }


class SpeechResponse:
    """Audio from a session, through one encoder, into a body."""

    def __init__(
        self, service: SpeechService, order: SpeechOrder, speech: SpeechSession, body: SpeechBody
    ) -> None:
        self._service = service
        self._order = order
        self._speech = speech
        self._body = body
        self._encoder: SpeechEncoder | None = None

    async def run(self) -> None:
        """Send everything; raises what the session raises, and ListenerStalled."""
        try:
            async for event in self._speech.events():
                if isinstance(event, AudioChunk):
                    await self._chunk(event)
                elif isinstance(event, SpeechFinished):
                    await self._end()
        finally:
            if self._encoder is not None:
                self._speech.account.encode_seconds = self._encoder.seconds
                self._encoder.close()

    async def _chunk(self, chunk: AudioChunk) -> None:
        if self._encoder is None:
            self._encoder = self._service.encoder(self._order, chunk.sample_rate)
        data = await self._encoder.encode(chunk.pcm)
        seconds = await self._body.audio(data)
        await self._speech.delivered(chunk.samples, seconds)

    async def _end(self) -> None:
        assert self._encoder is not None  # noqa: S101 - without audio the session raises
        rest = await self._encoder.finish()
        await self._speech.settle()
        await self._body.audio(rest)
        await self._body.finish(self._speech.account, len(self._order.input))
