"""The client counts what it gets and says why it got nothing."""

import asyncio
import json

import pytest

from tests.project.bench_server import END, HEAD, chunk, server_running
from voicehost.bench.client import (
    BYTES_PER_SECOND,
    Address,
    Ask,
    HttpConnection,
    http_speak,
    server_timings,
)
from voicehost.bench.errors import RequestFailed

ASK = Ask("tts-1", "af_heart", "Hello.", tier="realtime")


async def test_audio_is_counted_and_the_connection_kept() -> None:
    bodies: list[bytes] = []

    async def answer(body: bytes, writer: asyncio.StreamWriter) -> None:
        bodies.append(body)
        writer.write(HEAD + chunk(bytes(BYTES_PER_SECOND)) + chunk(bytes(BYTES_PER_SECOND)) + END)

    async with server_running(answer) as (address, heads):
        connection = HttpConnection(address)
        await connection.open()
        spoken = [await http_speak(connection, ASK) for _ in range(2)]
        connection.close()
    assert [each.audio_seconds for each in spoken] == [2.0, 2.0]
    assert all(0 < each.first_audio <= each.total for each in spoken)
    assert spoken[0].timings == {"queue": 0.0015, "ttfa": 0.02}
    assert json.loads(bodies[0]) == {
        "model": "tts-1",
        "voice": "af_heart",
        "input": "Hello.",
        "seed": 1,
        "response_format": "pcm",
        "quality_tier": "realtime",
    }
    assert b"Authorization: Bearer vh_key\r\n" in heads[0]


async def test_a_refusal_is_quoted() -> None:
    async def answer(body: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 429 No\r\nContent-Length: 8\r\n\r\ntoo many")

    async with server_running(answer) as (address, _):
        connection = HttpConnection(address)
        await connection.open()
        with pytest.raises(RequestFailed, match="HTTP 429: too many"):
            await http_speak(connection, ASK)
        connection.close()


async def test_a_broken_transfer_is_no_success() -> None:
    async def answer(body: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + chunk(bytes(100)))
        writer.close()

    async with server_running(answer) as (address, _):
        connection = HttpConnection(address)
        await connection.open()
        with pytest.raises(RequestFailed, match="broke off"):
            await http_speak(connection, ASK)


async def test_silence_is_no_success() -> None:
    async def answer(body: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + END)

    async with server_running(answer) as (address, _):
        connection = HttpConnection(address)
        await connection.open()
        with pytest.raises(RequestFailed, match="without audio"):
            await http_speak(connection, ASK)
        connection.close()


async def test_one_request_at_a_time() -> None:
    with pytest.raises(RequestFailed, match="not free"):
        HttpConnection(Address("127.0.0.1", 1, "")).request(b"", lambda count: None)


@pytest.mark.parametrize("url", ["127.0.0.1:8000", "https://host", "http://"])
def test_addresses_are_checked(url: str) -> None:
    with pytest.raises(RequestFailed, match="http://HOST:PORT"):
        Address.of(url, "")


def test_an_address_is_read() -> None:
    assert Address.of("http://127.0.0.1:8123", "k") == Address("127.0.0.1", 8123, "k")


def test_timings_without_a_duration_are_left_out() -> None:
    assert server_timings('cache;desc="hit", queue;desc="q";dur=3') == {"queue": 0.003}
    assert server_timings("") == {}
