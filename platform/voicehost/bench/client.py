"""A client of a running platform, thin enough to measure it."""

import asyncio
import json
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from voicehost.bench.errors import RequestFailed
from voicehost.bench.http_body import ResponseDecoder

BYTES_PER_SECOND = 48_000
"""PCM as the platform sends it: 24 kHz, mono, s16le."""
REQUEST_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Address:
    """Where a platform listens, and the key to use."""

    host: str
    port: int
    key: str

    @classmethod
    def of(cls, url: str, key: str) -> "Address":
        """Read "http://HOST:PORT"; raises RequestFailed."""
        parts = urlsplit(url)
        if parts.scheme != "http" or not parts.hostname:
            raise RequestFailed(f"a platform's address is http://HOST:PORT, not {url!r}")
        return cls(parts.hostname, parts.port or 80, key)


@dataclass(frozen=True, slots=True)
class Ask:
    """What is to be spoken, in raw PCM; `tier` "" is the key's own."""

    model: str
    voice: str
    text: str
    tier: str = ""
    seed: int = 1

    def body(self) -> bytes:
        """The JSON of the request."""
        fields: dict[str, object] = {
            "model": self.model,
            "voice": self.voice,
            "input": self.text,
            "seed": self.seed,
            "response_format": "pcm",
        }
        if self.tier:
            fields["quality_tier"] = self.tier
        return json.dumps(fields).encode()


@dataclass(frozen=True, slots=True)
class Spoken:
    """How one request went; seconds from the request's first byte (or the call) on.

    `timings` are those of the Server-Timing header, in seconds; empty for an
    engine without a platform.
    """

    first_audio: float
    total: float
    audio_seconds: float
    timings: dict[str, float]


class HttpConnection(asyncio.Protocol):
    """A kept-alive connection; `request` sends, `on_audio` hears of bytes of audio as they come."""

    def __init__(self, address: Address) -> None:
        self.transport: asyncio.Transport | None = None
        self._address = address
        self._decoder = ResponseDecoder()
        self._on_audio: Callable[[int], None] = _ignore
        self._done: asyncio.Future[dict[str, str]] | None = None
        self._error = b""

    async def open(self, receive_buffer: int = 0) -> None:
        """Connect; `receive_buffer` bounds what the kernel takes unread (0: as it likes)."""
        loop = asyncio.get_running_loop()
        channel = socket.socket()
        try:
            channel.setblocking(False)
            if receive_buffer:
                # Before connecting: the window is agreed upon in the handshake.
                channel.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
            await loop.sock_connect(channel, (self._address.host, self._address.port))
            await loop.create_connection(lambda: self, sock=channel)
        except BaseException:
            channel.close()
            raise

    def close(self) -> None:
        """Disconnect."""
        if self.transport is not None:
            self.transport.abort()

    def request(
        self, body: bytes, on_audio: Callable[[int], None]
    ) -> "asyncio.Future[dict[str, str]]":
        """Ask for speech; the future holds the headers once all audio is here.

        It fails with RequestFailed for an error response and a broken transfer.
        """
        if self.transport is None or self._done is not None:
            raise RequestFailed("the connection is not free")
        self._decoder, self._on_audio, self._error = ResponseDecoder(), on_audio, b""
        self._done = asyncio.get_running_loop().create_future()
        address = self._address
        head = (
            f"POST /v1/audio/speech HTTP/1.1\r\nHost: {address.host}:{address.port}\r\n"
            f"Authorization: Bearer {address.key}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        return self._done

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - what TCP connections get
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Count audio, or gather an error."""
        if self._done is None:
            return
        try:
            pieces = self._decoder.feed(data)
        except RequestFailed as error:
            self._end(error)
            return
        if self._decoder.status == 200:
            received = sum(map(len, pieces))
            if received:
                self._on_audio(received)
        else:
            self._error += b"".join(pieces)
        if self._decoder.complete:
            self._end(None)

    def connection_lost(self, error: Exception | None) -> None:
        """The server is gone; a response under way is broken."""
        self.transport = None
        self._end(RequestFailed(f"the connection broke off: {error or 'closed'}"))

    def _end(self, error: RequestFailed | None) -> None:
        done, self._done = self._done, None
        if done is None or done.done():
            return
        if error is None and self._decoder.status != 200:
            answer = self._error[:300].decode(errors="replace")
            error = RequestFailed(f"HTTP {self._decoder.status}: {answer}")
        if error is None:
            done.set_result(self._decoder.headers)
        else:
            done.set_exception(error)


async def http_speak(connection: HttpConnection, ask: Ask) -> Spoken:
    """Have `ask` spoken and read all of it at once; raises RequestFailed."""
    first = 0.0
    received = 0

    def heard(count: int) -> None:
        nonlocal first, received
        first = first or time.perf_counter()
        received += count

    body = ask.body()
    began = time.perf_counter()
    try:
        headers = await asyncio.wait_for(connection.request(body, heard), REQUEST_SECONDS)
    except TimeoutError:
        connection.close()
        raise RequestFailed(f"no end within {REQUEST_SECONDS:.0f} s") from None
    ended = time.perf_counter()
    if not received:
        raise RequestFailed("a response without audio")
    timings = server_timings(headers.get("server-timing", ""))
    return Spoken(first - began, ended - began, received / BYTES_PER_SECOND, timings)


def server_timings(header: str) -> dict[str, float]:
    """The seconds of each entry of a Server-Timing header (its `dur` is in ms)."""
    found: dict[str, float] = {}
    for entry in header.split(","):
        name, *parameters = (part.strip() for part in entry.split(";"))
        for parameter in parameters:
            key, _, value = parameter.partition("=")
            if key == "dur":
                found[name] = float(value) / 1000
    return found


def _ignore(count: int) -> None:
    """No request is under way."""
