"""Redis killed under load: requests end or say why, and everything works again afterwards."""

import asyncio
import json
import os
import signal
import time
from collections import Counter

import httpx
import pytest

from tests.e2e.pair import Pair, speech_body, until
from tests.e2e.speaking import client_of, drained

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("pair"), pytest.mark.timeout(120)]

CLIENTS = 6
LONGEST_SECONDS = 20.0
"""No request may take longer, whatever happens to Redis meanwhile: none hangs."""


async def test_redis_killed_and_started_again_under_load(pair: Pair) -> None:
    def redis_running() -> list[int]:
        return pair.platform.processes("redis.sock") or pair.platform.processes("redis")

    (redis_process,) = redis_running()
    ends: Counter[str] = Counter()
    over = asyncio.Event()

    async def speak(client: httpx.AsyncClient) -> None:
        while not over.is_set():
            async with asyncio.timeout(LONGEST_SECONDS):
                ends[await outcome(client)] += 1

    async with client_of(pair) as client, asyncio.TaskGroup() as speaking:
        for _ in range(CLIENTS):
            speaking.create_task(speak(client))
        await asyncio.to_thread(until, lambda: ends["completed"] >= CLIENTS)
        os.kill(redis_process, signal.SIGKILL)
        # Requests need not fail: a snapshot may have brought their streams back.
        await asyncio.to_thread(until, lambda: redis_running() not in ([], [redis_process]))
        completed = ends["completed"]
        await asyncio.to_thread(until, lambda: ends["completed"] >= completed + 2 * CLIENTS)
        over.set()
    assert ends.keys() <= {"completed", "broken", "503 overloaded", "503 worker_lost",
                           "503 version_unavailable", "503 limiter_unavailable"}  # fmt: skip

    await asyncio.to_thread(until, pair.is_whole)
    async with client_of(pair) as client:
        began = time.monotonic()
        assert [await outcome(client) for _ in range(4)] == ["completed"] * 4
        assert time.monotonic() - began < LONGEST_SECONDS


async def outcome(client: httpx.AsyncClient) -> str:
    """Speak for about a second: how it ended."""
    body = speech_body("long", "ten letters")
    try:
        async with client.stream("POST", "/v1/audio/speech", content=body) as response:
            if response.status_code != 200:
                error = json.loads(await response.aread())["error"]
                # A client that comes again at once only adds to the load.
                await asyncio.sleep(0.05)
                return f"{response.status_code} {error['code']}"
            await drained(response.aiter_raw())
            return "completed"
    except httpx.RemoteProtocolError:
        return "broken"
