"""A client of the WebSocket protocol for tests, over an in-memory connection."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from channels.testing import WebsocketCommunicator

from tests.tts.speech.speech_fakes import SECRET, Platform
from tts.consumers.settings import SocketLimits
from tts.consumers.socket import SpeechSocketConsumer

PATH = "/v1/audio/speech/stream"


class Client:
    """Sends messages and sorts what comes back."""

    def __init__(self, communicator: WebsocketCommunicator) -> None:
        self._communicator = communicator

    async def send(self, kind: str, **fields: Any) -> None:
        await self._communicator.send_to(text_data=json.dumps({"type": kind, **fields}))

    async def send_raw(self, **data: Any) -> None:
        await self._communicator.send_to(**data)

    async def receive(self) -> dict[str, Any] | bytes:
        data = await self._communicator.receive_from(timeout=5)
        return data if isinstance(data, bytes) else json.loads(data)

    async def until(self, kind: str, **fields: Any) -> tuple[list[Any], dict[str, Any]]:
        """What came before the first message of `kind` with these fields, and that message."""
        before: list[Any] = []
        while True:
            message = await self.receive()
            if isinstance(message, dict) and message.items() >= {"type": kind, **fields}.items():
                return before, message
            before.append(message)

    async def close_code(self) -> int:
        """The code of the close that must come next."""
        output = await self._communicator.receive_output(timeout=5)
        assert output["type"] == "websocket.close", output
        return int(output["code"])

    async def nothing(self) -> bool:
        return await self._communicator.receive_nothing(timeout=0.05)


@asynccontextmanager
async def connected(
    platform: Platform,
    *,
    secret: str = SECRET,
    headers: list[tuple[bytes, bytes]] | None = None,
    subprotocols: list[str] | None = None,
    query: str = "",
    limits: SocketLimits | None = None,
    greeted: bool = True,
) -> AsyncIterator[Client]:
    """A connected client; with `greeted`, its session is set to the fakes' model and voice."""

    async def service() -> Any:
        return platform.service

    if headers is None:
        headers = [(b"authorization", f"Bearer {secret}".encode())] if secret else []
    communicator = WebsocketCommunicator(
        SpeechSocketConsumer(service, limits),
        PATH + query,
        headers=headers,
        subprotocols=subprotocols,
    )
    ok, chosen = await communicator.connect()
    assert ok
    assert chosen == ("tts.v1" if subprotocols and "tts.v1" in subprotocols else None)
    client = Client(communicator)
    if greeted:
        await client.until("session.created")
        await client.send("session.update", model="tone", voice="both")
        await client.until("session.updated")
    try:
        yield client
    finally:
        await communicator.disconnect()
