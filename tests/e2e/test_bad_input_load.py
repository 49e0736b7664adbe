"""More than is allowed at once: exactly what is allowed runs, and the rest is told when to come."""

import asyncio
import json
import socket
from collections import Counter
from contextlib import closing

import httpx
import pytest

from tests.e2e.bad_input import REQUEST, Target, error_of
from tests.e2e.pair import until
from tests.e2e.speech_client import PATH

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("platform")]

CONCURRENCY = 5
"""Of the tier `narrow`; its minute has 30 requests."""

REQUESTS_PER_MINUTE = 30
MOST_WAITING = 256
"""Requests that wait in a synthesis worker at most (CoreConfig.max_waiting)."""

SLOPE = 20_000
"""Bytes that the web process may grow by for a request: allocators keep some, a leak has no end."""

STREAM_SLOPE = 60_000
"""The same for a stream that is given up: allocators grow in steps, and a stream that were
left behind would hold up to 30 s of audio, 1.4 MB."""


def client_of(target: Target) -> httpx.AsyncClient:
    limits = httpx.Limits(max_connections=None)
    return httpx.AsyncClient(
        base_url=target.platform.url, timeout=60, limits=limits, trust_env=False
    )


async def test_exactly_the_allowed_number_runs_at_once(target: Target) -> None:
    """200 requests of which none ends: the limit's number is served, all others get a 429."""
    body = REQUEST | {"input": "a" * 1_900, "quality_tier": None}
    ended = asyncio.Event()
    answered: Counter[tuple[int, str]] = Counter()
    hints: set[str | None] = set()

    async def ask(client: httpx.AsyncClient) -> None:
        async with client.stream(
            "POST", PATH, json=body, headers=target.headers("narrow")
        ) as response:
            if response.status_code == 200:
                answered[200, ""] += 1
                # Unread, so that it holds its place.
                await ended.wait()
            else:
                await response.aread()
                message = error_of(response, 429, "rate_limit_exceeded")
                hints.add(response.headers.get("retry-after"))
                answered[429, "concurrent" if "at the same time" in message else message] += 1

    async with client_of(target) as client, asyncio.TaskGroup() as group:
        for _ in range(200):
            group.create_task(ask(client))
        async with asyncio.timeout(60):
            while answered.total() < 200:
                await asyncio.sleep(0.05)
        ended.set()
    assert answered[200, ""] == CONCURRENCY, answered
    assert None not in hints
    await asyncio.to_thread(until, lambda: not target.left(), seconds=10)
    assert target.post("narrow", quality_tier=None).status_code == 200


async def test_rate_limit_is_exact_over_two_connections(target: Target) -> None:
    """A bucket of 30 a minute refills one in two seconds, for both connections together."""
    loop = asyncio.get_running_loop()
    body = REQUEST | {"quality_tier": None}
    headers = target.headers("rated")
    served = 0
    refused: list[httpx.Response] = []

    async def ask(client: httpx.AsyncClient) -> None:
        nonlocal served
        for _ in range(REQUESTS_PER_MINUTE):
            response = await client.post(PATH, json=body, headers=headers)
            if response.status_code == 200:
                served += 1
            else:
                refused.append(response)

    begun = loop.time()
    async with client_of(target) as one, client_of(target) as other:
        await asyncio.gather(ask(one), ask(other))
    refilled = int((loop.time() - begun) * REQUESTS_PER_MINUTE / 60) + 1
    assert REQUESTS_PER_MINUTE <= served <= REQUESTS_PER_MINUTE + refilled
    for response in refused:
        error_of(response, 429, "rate_limit_exceeded")
        assert 1 <= int(response.headers["retry-after"]) <= 2
        assert response.headers["x-should-retry"] == "true"


async def test_full_queue_is_the_platforms_fault(target: Target) -> None:
    """A worker that has no room: 503 with Retry-After, never a tenant's 429."""
    body = REQUEST | {"model": "tone-crawl", "input": "Slow."}
    refused: list[httpx.Response] = []

    async def ask(client: httpx.AsyncClient) -> None:
        response = await client.post(PATH, json=body, headers=target.headers())
        if response.status_code != 200:
            refused.append(response)

    async with client_of(target) as client:
        tasks = [asyncio.create_task(ask(client)) for _ in range(MOST_WAITING + 40)]
        async with asyncio.timeout(60):
            while len(refused) < 10:
                await asyncio.sleep(0.05)
            for address in ("/healthz", "/readyz"):
                assert (await client.get(address)).status_code == 200
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for response in refused:
        error_of(response, 503, "queue_full")
        assert int(response.headers["retry-after"]) >= 1
    await asyncio.to_thread(until, lambda: not target.left() and target.is_idle(), seconds=20)


async def test_refusals_cost_no_memory(target: Target) -> None:
    bodies = [
        json.dumps(REQUEST | {"input": "..."}).encode(), b"{", b"[" * 50_000,
        json.dumps(REQUEST | {"voice": "nobody"}).encode(),
    ]  # fmt: skip
    headers = target.headers() | {"content-type": "application/json"}

    async def refuse(client: httpx.AsyncClient, count: int) -> None:
        for number in range(count):
            body = bodies[number % len(bodies)]
            response = await client.post(PATH, content=body, headers=headers)
            assert response.status_code in {400, 404}

    async with client_of(target) as client:
        await asyncio.gather(*(refuse(client, 25) for _ in range(8)))
        before = target.web_memory()
        await asyncio.gather(*(refuse(client, 63) for _ in range(8)))
    assert target.web_memory() - before < 504 * SLOPE


async def test_dropped_connections_leave_nothing(target: Target) -> None:
    """500 clients that are gone in mid-stream: nothing is held for them, and memory is steady."""
    body = REQUEST | {"input": "word " * 300}

    async def drop(client: httpx.AsyncClient, count: int) -> None:
        for _ in range(count):
            async with client.stream("POST", PATH, json=body, headers=target.headers()) as response:
                assert response.status_code == 200
                await anext(response.aiter_raw())

    async with client_of(target) as client:
        await asyncio.gather(*(drop(client, 25) for _ in range(8)))
        before = target.web_memory()
        await asyncio.gather(*(drop(client, 38) for _ in range(8)))
    await asyncio.to_thread(until, lambda: not target.left() and target.is_idle(), seconds=20)
    assert target.web_memory() - before < 304 * STREAM_SLOPE


def test_half_a_body_and_gone(target: Target) -> None:
    body = json.dumps(REQUEST).encode()
    data = (
        f"POST {PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {target.keys['wide']}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body[:20]
    for _ in range(50):
        with closing(socket.create_connection(target.address, 5)) as connection:
            connection.sendall(data)
    assert target.left() == {}
    assert target.post().status_code == 200


def test_nothing_of_any_attack_is_left(target: Target) -> None:
    until(lambda: not target.left() and target.is_idle(), seconds=10)
