"""Clients of a platform: HTTP and WebSocket."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from tests.e2e.pair import Pair

SLACK = 1.5
"""What two busy cores add to any promise, in seconds."""
ANSWER_SECONDS = 30.0


@asynccontextmanager
async def client_of(pair: Pair, key: str = "") -> AsyncIterator[httpx.AsyncClient]:
    """An HTTP client with the platform's key, or another."""
    headers = {"Authorization": f"Bearer {key or pair.key}", "Content-Type": "application/json"}
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(
        base_url=pair.platform.url, headers=headers, timeout=ANSWER_SECONDS, limits=limits
    ) as client:
        yield client


@asynccontextmanager
async def socket_of(pair: Pair) -> AsyncIterator[ClientConnection]:
    """A WebSocket, after its handshake."""
    async with connect(
        f"ws://127.0.0.1:{pair.platform.port}/v1/audio/speech/stream",
        subprotocols=[Subprotocol("tts.v1")],
        additional_headers={"Authorization": f"Bearer {pair.key}"},
        open_timeout=ANSWER_SECONDS,
    ) as connection:
        yield connection


async def socket_speak(
    connection: ClientConnection, model: str, text: str, *, context: str
) -> None:
    """Ask for a whole text in a context of its own."""
    for message in (
        {"type": "session.update", "model": model},
        {"type": "input_text.append", "context_id": context, "text": text},
        {"type": "input_text.end", "context_id": context},
    ):
        await connection.send(json.dumps(message))


async def message(connection: ClientConnection, kind: str) -> dict[str, Any]:
    """The next JSON message of `kind`; audio and other messages are passed over."""
    async with asyncio.timeout(ANSWER_SECONDS):
        while True:
            frame = await connection.recv()
            if isinstance(frame, str):
                found: dict[str, Any] = json.loads(frame)
                if found["type"] == kind:
                    return found


async def drained(received: AsyncIterator[bytes]) -> int:
    """Read to the end; returns how many bytes came."""
    size = 0
    async for data in received:
        size += len(data)
    return size
