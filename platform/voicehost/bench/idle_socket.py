"""A WebSocket client that keeps a `tts.v1` session open and says next to nothing."""

import asyncio
import base64
import json
import secrets
import struct
import time

from voicehost.bench.client import Address
from voicehost.bench.errors import RequestFailed

PATH = "/v1/audio/speech/stream"
PROTOCOL = "tts.v1"
OPEN_SECONDS = 30.0
_TEXT, _CLOSE, _PING, _PONG = 1, 8, 9, 10


class IdleSocket(asyncio.Protocol):
    """Answers the server's pings; `ping` asks for a `pong` of the session and times it."""

    def __init__(self, address: Address) -> None:
        self.open = False
        self.round_trips: list[float] = []
        self._address = address
        self._transport: asyncio.Transport | None = None
        self._held = b""
        self._upgraded = False
        self._asked_at: float | None = None
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def connect(self) -> None:
        """Open, until the session is created; raises RequestFailed."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(OPEN_SECONDS):
                await loop.create_connection(lambda: self, self._address.host, self._address.port)
                await self._ready
        except (OSError, TimeoutError) as error:
            raise RequestFailed(f"a socket did not open: {error!r}") from error
        self.open = True

    def close(self) -> None:
        """Break off."""
        self.open = False
        if self._transport is not None:
            self._transport.abort()

    def ping(self) -> None:
        """Ask for a `pong`, unless one is still awaited."""
        if self._asked_at is None and self.open:
            self._asked_at = time.perf_counter()
            self._send(_TEXT, json.dumps({"type": "ping"}).encode())

    # -- asyncio's side ----------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for the upgrade (RFC 6455, section 4.1)."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - what TCP connections get
        self._transport = transport
        address = self._address
        nonce = base64.b64encode(secrets.token_bytes(16)).decode()
        transport.write(
            f"GET {PATH} HTTP/1.1\r\nHost: {address.host}:{address.port}\r\n"
            f"Authorization: Bearer {address.key}\r\n"
            f"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            f"Sec-WebSocket-Key: {nonce}\r\nSec-WebSocket-Protocol: {PROTOCOL}\r\n\r\n".encode()
        )

    def data_received(self, data: bytes) -> None:
        """Read the answer to the upgrade, then frames."""
        self._held += data
        if not self._upgraded:
            head, found, rest = self._held.partition(b"\r\n\r\n")
            if not found:
                return
            if not head.startswith(b"HTTP/1.1 101"):
                self._fail(f"no upgrade: {head[:100].decode(errors='replace')}")
                return
            self._upgraded, self._held = True, rest
        while (frame := self._frame()) is not None:
            self._handle(*frame)

    def connection_lost(self, error: Exception | None) -> None:
        """The server ended it."""
        self.open = False
        self._fail(f"closed: {error or 'by the server'}")

    # -- frames ------------------------------------------------------------------

    def _frame(self) -> tuple[int, bytes] | None:
        """The next whole frame (opcode, payload); servers do not mask."""
        held = self._held
        if len(held) < 2:
            return None
        length, start = held[1] & 0x7F, 2
        if length >= 126:
            start = 4 if length == 126 else 10
            if len(held) < start:
                return None
            (length,) = struct.unpack(">H" if start == 4 else ">Q", held[2:start])
        if len(held) < start + length:
            return None
        self._held = held[start + length :]
        return held[0] & 0x0F, held[start : start + length]

    def _handle(self, opcode: int, payload: bytes) -> None:
        if opcode == _PING:
            self._send(_PONG, payload)
        elif opcode == _CLOSE:
            self._fail(f"closed by the server: {payload[2:].decode(errors='replace')}")
            self.close()
        elif opcode == _TEXT:
            self._message(json.loads(payload))

    def _message(self, message: dict[str, object]) -> None:
        kind = message.get("type")
        if kind == "session.created" and not self._ready.done():
            self._ready.set_result(None)
        elif kind == "pong" and self._asked_at is not None:
            self.round_trips.append(time.perf_counter() - self._asked_at)
            self._asked_at = None
        elif kind == "error":
            self._fail(str(message.get("error")))

    def _send(self, opcode: int, payload: bytes) -> None:
        """A masked frame of less than 126 bytes; the mask of zeros changes nothing."""
        if self._transport is not None:
            head = struct.pack(">BBI", 0x80 | opcode, 0x80 | len(payload), 0)
            self._transport.write(head + payload)

    def _fail(self, why: str) -> None:
        if not self._ready.done():
            self._ready.set_exception(RequestFailed(why))
