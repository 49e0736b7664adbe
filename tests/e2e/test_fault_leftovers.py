"""What is left of requests that are over: nothing in Redis or memory, no text or key in a log."""

import asyncio
import contextlib
import json
import subprocess
import sys

import httpx
import pytest
import redis

from tests.e2e.family import resident
from tests.e2e.pair import Pair, speech_body, until
from tests.e2e.platform import ROOT
from tests.e2e.speaking import client_of, drained, message, socket_of, socket_speak

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("pair"), pytest.mark.timeout(180)]

REQUESTS = 10_000
BY_HTTP = 500
SLOPE = 16 * 2**10
"""Bytes a request that a process may grow by: half a second of audio is more."""
SPOKEN_WORD = "zanzibarite"
"""A word that is in no log unless a text is."""


async def test_ten_thousand_requests_leave_nothing_in_redis(pair: Pair) -> None:
    """500 by HTTP, the others through the service behind it, in a process like a web process."""
    # A web process is a gateway from its first request on.
    while state(pair.redis).get("vh:gateways", 0) < len(pair.web_processes()):
        await speak_by_http(pair, 8)
    before = state(pair.redis)
    inside = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.e2e.many_sessions",
        pair.key, str(REQUESTS - BY_HTTP), SPOKEN_WORD,
        env={**pair.platform.environment, "PYTHONPATH": f"{ROOT}:{ROOT / 'platform'}"},
        stdout=subprocess.PIPE, cwd=ROOT,
    )  # fmt: skip
    await speak_by_http(pair, BY_HTTP)
    out, _ = await inside.communicate()
    assert json.loads(out) == {"completed": REQUESTS - BY_HTTP}

    await asyncio.to_thread(until, pair.is_idle)
    # What an earlier test left may have expired meanwhile; nothing may have come.
    with contextlib.suppress(AssertionError):
        await asyncio.to_thread(until, lambda: not left_since(before, pair), seconds=60)
    assert left_since(before, pair) == set()
    for key in pair.redis.scan_iter("*"):
        assert SPOKEN_WORD.encode() not in content(pair.redis, key), key
        if key.startswith(b"vh:limit:"):
            # Whose seconds are over: a bucket that has filled up again says nothing. A key may
            # expire meanwhile (-2); one without an end (-1) would stay.
            left = int(pair.redis.pttl(key))  # type: ignore[arg-type]
            assert left == -2 or 0 <= left <= 120_000
    # A snapshot of the time in between holds what was under way then, until the next.
    pair.redis.save()
    for stored in (pair.platform.var_dir / "redis").rglob("*"):
        assert stored.is_dir() or SPOKEN_WORD.encode() not in stored.read_bytes(), stored


async def test_memory_is_steady_from_request_to_request(pair: Pair) -> None:
    def sizes() -> dict[int, int]:
        processes = pair.web_processes() + [beat.pid for beat in pair.beats()]
        return {pid: resident(pid) for pid in processes}

    # What allocators keep, they have after these.
    await speak_by_http(pair, 200)
    await asyncio.to_thread(until, pair.is_idle)
    before = sizes()
    await speak_by_http(pair, BY_HTTP)
    await asyncio.to_thread(until, pair.is_idle)
    after = sizes()
    assert after.keys() == before.keys()
    grown = {pid: (size - before[pid]) / BY_HTTP for pid, size in after.items()}
    assert max(grown.values()) < SLOPE, grown


async def test_no_text_and_no_key_in_any_log_line(pair: Pair) -> None:
    secret_word, wrong_key = "quizzaciously", f"vh_{'k' * 8}_{'s' * 43}"
    words = f"{secret_word} spoken"
    async with client_of(pair) as client, client_of(pair, key=wrong_key) as stranger:
        for body in (
            speech_body("tone", words),
            speech_body("tone", words, stream_format="sse", instructions=words),
            speech_body("tone", words, voice=secret_word),
            speech_body(secret_word, words),
            speech_body("tone", words, response_format=secret_word),
            speech_body("tone", words, instructions="fail:row"),
            speech_body("tone", words, instructions="fail:step"),
            speech_body("tone", words * 10_000),
            speech_body("tone", words)[:-9],
        ):
            await client.post("/v1/audio/speech", content=body)
            await stranger.post("/v1/audio/speech", content=body)
        body = speech_body("long", words * 9)
        async with client.stream("POST", "/v1/audio/speech", content=body) as response:
            await anext(response.aiter_raw())
        token = (await client.post("/v1/tokens", content=b"{}")).json()
    async with socket_of(pair) as connection:
        await socket_speak(connection, "tone", words, context="a")
        await message(connection, "speech.done")
        await connection.send(f'{{"type": "input_text.append", "text": ["{secret_word}"]}}')
        await message(connection, "error")
        await connection.send(secret_word)
        await message(connection, "error")
    await asyncio.to_thread(until, pair.is_idle)
    log = pair.log()
    assert "speech_finished" in log
    assert pair.key not in log
    assert pair.key.split("_", 2)[2] not in log
    assert wrong_key not in log
    assert next(value for value in token.values() if str(value).count(".") == 2) not in log
    assert secret_word not in log


async def speak_by_http(pair: Pair, count: int) -> None:
    """Speak `count` times, eight at once, as HTTP clients do."""
    body = speech_body("tone", SPOKEN_WORD)
    left = iter(range(count))

    async def speak(client: httpx.AsyncClient) -> None:
        for _ in left:
            async with client.stream("POST", "/v1/audio/speech", content=body) as response:
                assert response.status_code == 200
                assert await drained(response.aiter_raw())

    async with client_of(pair) as client, asyncio.TaskGroup() as group:
        for _ in range(8):
            group.create_task(speak(client))


def left_since(before: dict[str, int], pair: Pair) -> set[str]:
    """The keys that are new or hold more than `before`."""
    return {key for key, size in state(pair.redis).items() if size > before.get(key, -1)}


def state(client: "redis.Redis") -> dict[str, int]:
    """Every key but limits', with the length of streams and the size of sets."""
    sizes = {}
    for raw in client.scan_iter("*"):
        key = raw.decode()
        if not key.startswith("vh:limit:"):
            sizes[key] = len(pieces(client, raw))
    return sizes


def content(client: "redis.Redis", key: bytes) -> bytes:
    """All that a key holds."""
    return repr(pieces(client, key)).encode()


def pieces(client: "redis.Redis", key: bytes) -> list[object]:
    """The elements of a key of any type."""
    commands = {
        b"string": ("GET",),
        b"list": ("LRANGE", 0, -1),
        b"set": ("SMEMBERS",),
        b"hash": ("HGETALL",),
        b"zset": ("ZRANGE", 0, -1),
        b"stream": ("XRANGE", "-", "+"),
    }
    kind = client.execute_command("TYPE", key)  # type: ignore[no-untyped-call]
    if kind not in commands:
        return []
    command, *rest = commands[kind]
    found = client.execute_command(command, key, *rest)  # type: ignore[no-untyped-call]
    return list(found) if isinstance(found, list | set | dict) else [found]
