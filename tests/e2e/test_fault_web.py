"""Web processes that are killed, and clients that leave or do not read."""

import asyncio
import os
import signal
import socket
import time

import httpx
import pytest

from tests.e2e.family import resident
from tests.e2e.pair import Pair, speech_body, until
from tests.e2e.speaking import SLACK, client_of, drained, message, socket_of, socket_speak

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("pair"), pytest.mark.timeout(120)]

FREED_SECONDS = 0.2 + 0.2 + SLACK
"""The promise, the beat that shows it, and what two busy cores add."""
HOLDS = 3
"""What a request holds: a lease of its version, a slot of its key, one of its tenant."""
LONG_TEXT = "this is spoken for a long while " * 40
RESIDENT_MOST = 48 * 2**20


async def freed(pair: Pair) -> float:
    """Seconds until no worker holds a request and all slots are free."""
    began = time.monotonic()
    await asyncio.to_thread(until, pair.is_idle)
    return time.monotonic() - began


async def test_a_killed_web_process_frees_its_requests_and_the_other_answers(pair: Pair) -> None:
    held_before = held(pair)
    async with client_of(pair) as client:
        body = speech_body("long", LONG_TEXT)
        async with client.stream("POST", "/v1/audio/speech", content=body) as response:
            received = response.aiter_raw()
            await anext(received)
            stream = response.extensions["network_stream"]
            pid = pair.web_process_of(stream.get_extra_info("client_addr")[1])
            assert pid is not None
            # Heartbeats say it, a moment later.
            await asyncio.to_thread(until, pair.busy)
            assert len(held(pair) - held_before) == HOLDS
            os.kill(pid, signal.SIGKILL)
            killed = time.monotonic()
            freeing = asyncio.create_task(freed(pair))
            with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
                await drained(received)
    # They would run out after 30 s.
    await asyncio.to_thread(until, lambda: held(pair) <= held_before)
    assert time.monotonic() - killed < FREED_SECONDS
    async with client_of(pair) as client:
        for _ in range(20):
            # A connection of its own each time, on the port that both listened on.
            answer = await client.get("/healthz", headers={"Connection": "close"})
            assert answer.status_code == 200
        spoken = await client.post("/v1/audio/speech", content=speech_body("tone", "still here"))
        assert spoken.status_code == 200
    assert await freeing < FREED_SECONDS
    await asyncio.to_thread(until, lambda: len(pair.web_processes()) == 2)


@pytest.mark.parametrize("stream_format", ["audio", "sse"])
async def test_a_client_that_leaves_frees_everything(pair: Pair, stream_format: str) -> None:
    held_before = held(pair)
    body = speech_body("long", LONG_TEXT, stream_format=stream_format)
    async with client_of(pair) as client:
        async with client.stream("POST", "/v1/audio/speech", content=body) as response:
            await anext(response.aiter_raw())
            # Heartbeats say it, a moment later.
            await asyncio.to_thread(until, pair.busy)
        assert await freed(pair) < FREED_SECONDS
    assert await asyncio.to_thread(until, lambda: held(pair) <= held_before)


async def test_a_client_that_leaves_before_the_first_audio_frees_everything(pair: Pair) -> None:
    held_before = held(pair)
    async with client_of(pair) as client:
        speaking = asyncio.create_task(
            client.post("/v1/audio/speech", content=speech_body("late", "nobody hears it"))
        )
        await asyncio.to_thread(until, pair.busy)
        speaking.cancel()
        # A step of this engine lasts a second, and ends before the row is free.
        assert await freed(pair) < 1.0 + FREED_SECONDS
    assert await asyncio.to_thread(until, lambda: held(pair) <= held_before)


async def test_a_socket_that_closes_frees_everything(pair: Pair) -> None:
    held_before = held(pair)
    async with socket_of(pair) as connection:
        for context in ("a", "b"):
            await socket_speak(connection, "long", LONG_TEXT, context=context)
        await message(connection, "speech.started")
        # Heartbeats say it, a moment later.
        await asyncio.to_thread(until, pair.busy)
        connection.transport.abort()
        assert await freed(pair) < FREED_SECONDS
    assert await asyncio.to_thread(until, lambda: held(pair) <= held_before)


async def test_a_client_that_does_not_read_costs_little_and_is_given_up(pair: Pair) -> None:
    """5 MB of audio are due; buffers take some of it, and credit ends the rest of the work."""
    before = {pid: resident(pid) for pid in pair.web_processes()}
    held_before = held(pair)
    body = speech_body("few", "a" * 2000)
    sockets = [socket.create_connection(("127.0.0.1", pair.platform.port)) for _ in range(10)]
    began = time.monotonic()
    try:
        for connection in sockets:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            head = f"Authorization: Bearer {pair.key}\r\nContent-Type: application/json\r\n"
            connection.sendall(
                f"POST /v1/audio/speech HTTP/1.1\r\nHost: localhost\r\n{head}"
                f"Content-Length: {len(body)}\r\n\r\n".encode()
                + body
            )
        # More than there are slots: who has no credit left makes way for the next.
        await asyncio.to_thread(until, lambda: _active(pair) == len(sockets))
        async with client_of(pair) as client:
            other = await client.post("/v1/audio/speech", content=speech_body("few", "others"))
            assert other.status_code == 200
        await asyncio.to_thread(until, lambda: _active(pair) == len(sockets))
        for pid, size in before.items():
            assert resident(pid) - size < RESIDENT_MOST
        await asyncio.to_thread(until, pair.is_idle, seconds=60)
        assert time.monotonic() - began > 25.0
    finally:
        for connection in sockets:
            connection.close()
    assert await asyncio.to_thread(until, lambda: held(pair) <= held_before)


def held(pair: Pair) -> set[tuple[bytes, bytes]]:
    """The leases of versions and the slots of keys and tenants that requests hold."""
    return {
        (key, member)
        for pattern in ("vh:lease:*", "vh:limit:*leases")
        for key in pair.redis.scan_iter(pattern)
        for member in pair.redis.zrange(key, 0, -1)  # type: ignore[union-attr]
    }


def _active(pair: Pair) -> int:
    return sum(beat.active for beat in pair.beats())
