"""The load generator hears streams out, keeps sockets open, and tells who failed."""

import asyncio
import json

import pytest
from websockets.asyncio.server import ServerConnection, serve

from tests.project.bench_server import END, HEAD, chunk, server_running
from voicehost.bench.client import BYTES_PER_SECOND, Address, Ask
from voicehost.bench.errors import RequestFailed
from voicehost.bench.idle_socket import IdleSocket
from voicehost.bench.listeners import Generator, Heard, Scene, Spread

ASK = Ask("tone", "tone-a", "Hello.")
AUDIO = bytes(BYTES_PER_SECOND // 10)


def scene(address: Address, *, streams: int = 0, sockets: int = 0) -> Scene:
    return Scene(address, ASK, streams, sockets, ramp_seconds=0.0, most_seconds=20.0)


async def test_every_stream_is_heard_out() -> None:
    async def answer(body: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + chunk(AUDIO) + chunk(AUDIO) + END)

    async with server_running(answer) as (address, _):
        heard = await Generator(scene(address, streams=5)).play()
    assert (heard.complete, heard.dry_streams, heard.failures) == (5, 0, [])
    assert heard.shortest == heard.longest == 2 * len(AUDIO)
    assert heard.first_audio.p50 > 0


async def test_streams_that_break_off_are_told() -> None:
    async def answer(body: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + chunk(AUDIO))
        writer.close()

    async with server_running(answer) as (address, _):
        heard = await Generator(scene(address, streams=4)).play()
    assert heard.complete == 0
    assert len(heard.failures) == 3
    assert "broke off" in heard.failures[0]


async def test_a_scene_and_what_was_heard_cross_processes() -> None:
    planned = scene(Address("127.0.0.1", 1, "k"), streams=3, sockets=7)
    assert Scene.from_json(planned.to_json()) == planned
    spread = Spread.of([0.1, 0.2, 0.3])
    heard = Heard(3, 0, spread, spread, 10, 10, 0, spread, spread, ["why"])
    values = {
        name: getattr(heard, name) if not isinstance(getattr(heard, name), Spread) else
        {"p50": spread.p50, "p99": spread.p99, "most": spread.most}
        for name in Heard.__slots__
    }  # fmt: skip
    assert Heard.from_json(json.dumps(values)) == heard


async def session(connection: ServerConnection) -> None:
    """What the platform says to a client that keeps a session open."""
    await connection.send(json.dumps({"type": "session.created", "pad": "x" * 400}))
    await connection.ping()
    async for message in connection:
        assert json.loads(message) == {"type": "ping"}
        await connection.send(json.dumps({"type": "pong"}))


async def test_idle_sockets_open_and_answer() -> None:
    async with serve(session, "127.0.0.1", 0, subprotocols=["tts.v1"]) as server:  # type: ignore[list-item]
        port = next(iter(server.sockets)).getsockname()[1]
        generator = Generator(scene(Address("127.0.0.1", port, "k"), sockets=3))
        assert await generator.sockets_open() == 3
        generator.close()


async def test_a_round_trip_is_timed() -> None:
    async with serve(session, "127.0.0.1", 0, subprotocols=["tts.v1"]) as server:  # type: ignore[list-item]
        port = next(iter(server.sockets)).getsockname()[1]
        socket = IdleSocket(Address("127.0.0.1", port, "k"))
        await socket.connect()
        socket.ping()
        socket.ping()
        async with asyncio.timeout(10):
            while not socket.round_trips:
                await asyncio.sleep(0)
        assert len(socket.round_trips) == 1
        assert socket.open
        socket.close()


async def test_a_server_that_closes_is_noticed() -> None:
    async def refuse(connection: ServerConnection) -> None:
        await connection.send(json.dumps({"type": "error", "error": {"code": "invalid_api_key"}}))
        await connection.close(4401)

    async with serve(refuse, "127.0.0.1", 0, subprotocols=["tts.v1"]) as server:  # type: ignore[list-item]
        port = next(iter(server.sockets)).getsockname()[1]
        with pytest.raises(RequestFailed, match="invalid_api_key"):
            await IdleSocket(Address("127.0.0.1", port, "k")).connect()
