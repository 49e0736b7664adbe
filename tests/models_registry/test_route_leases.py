"""Leases count the requests of a version over all processes and leave nothing behind."""

import asyncio
import os
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest
import redis.asyncio
from redis.exceptions import ConnectionError as RedisConnectionError

from coordination.keys import route_lease
from models_registry.leases import RouteLeases
from tests.requirement import missing

URL = "redis://127.0.0.1:6379"


@pytest.fixture
async def client() -> AsyncIterator[redis.asyncio.Redis]:
    """A real server."""
    found = redis.asyncio.Redis.from_url(os.environ.get("REDIS_URL", URL))
    try:
        await found.get("vh:none")
    except RedisConnectionError:
        missing(f"a Redis server at {URL}")
    yield found
    await found.aclose()


@pytest.fixture
async def version(client: redis.asyncio.Redis) -> AsyncIterator[str]:
    """A version of this test alone."""
    name = f"test-{uuid4().hex}@1"
    yield name
    await client.delete(route_lease(name))


class Clock:
    """Wall time, moved by the test."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    """A clock at a fixed time."""
    return Clock()


@pytest.fixture
def leases(client: redis.asyncio.Redis, clock: Clock) -> RouteLeases:
    """Leases on the test's server and clock."""
    return RouteLeases(client=lambda: client, clock=clock)


async def test_lease_counts_until_it_is_released(
    leases: RouteLeases, client: redis.asyncio.Redis, version: str
) -> None:
    await leases.acquire(version, "one")
    await leases.acquire(version, "two")
    await leases.acquire(version, "two")
    assert await leases.count(version) == 2
    await leases.release(version, "one")
    await leases.release(version, "one")
    assert await leases.count(version) == 1
    await leases.release(version, "two")
    assert await leases.count(version) == 0
    assert not await client.exists(route_lease(version))


async def test_lease_of_a_dead_process_runs_out(
    leases: RouteLeases, client: redis.asyncio.Redis, version: str, clock: Clock
) -> None:
    await leases.acquire(version, "dead")
    clock.now += 20
    await leases.acquire(version, "alive")
    clock.now += 11
    assert await leases.count(version) == 1
    clock.now += 20
    assert await leases.count(version) == 0
    assert not await client.exists(route_lease(version))


async def test_set_expires_by_itself(
    leases: RouteLeases, client: redis.asyncio.Redis, version: str
) -> None:
    await leases.acquire(version, "one")
    assert 30_000 < await client.pttl(route_lease(version)) <= 31_000


async def test_renewing_keeps_what_exists_and_names_what_does_not(
    leases: RouteLeases, version: str, clock: Clock
) -> None:
    await leases.acquire(version, "one")
    clock.now += 20
    assert await leases.renew(version, ["one", "lost"]) == frozenset({"lost"})
    clock.now += 20
    assert await leases.count(version) == 1
    assert await leases.renew(version, []) == frozenset()


async def test_renewal_does_not_bring_back_what_was_released(
    leases: RouteLeases, client: redis.asyncio.Redis, version: str
) -> None:
    await leases.acquire(version, "one")
    await leases.release(version, "one")
    assert await leases.renew(version, ["one"]) == frozenset({"one"})
    assert not await client.exists(route_lease(version))


async def test_cancelled_acquire_leaves_nothing(
    leases: RouteLeases, client: redis.asyncio.Redis, version: str
) -> None:
    for turns in range(12):
        task = asyncio.create_task(leases.acquire(version, f"request-{turns}"))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        done = await asyncio.gather(task, return_exceptions=True)
        if done[0] is None:  # it was through before the cancel came
            await leases.release(version, f"request-{turns}")
    assert not await client.exists(route_lease(version))


async def test_release_is_finished_though_its_caller_is_cancelled(
    leases: RouteLeases, client: redis.asyncio.Redis, version: str
) -> None:
    await leases.acquire(version, "one")
    task = asyncio.create_task(leases.release(version, "one"))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with asyncio.timeout(5):
        while await client.exists(route_lease(version)):
            await asyncio.sleep(0)


async def test_many_at_once(leases: RouteLeases, client: redis.asyncio.Redis, version: str) -> None:
    requests = [f"request-{number}" for number in range(50)]
    await asyncio.gather(*(leases.acquire(version, request) for request in requests))
    assert await leases.count(version) == 50
    assert await leases.renew(version, requests) == frozenset()
    await asyncio.gather(*(leases.release(version, request) for request in requests))
    assert not await client.exists(route_lease(version))
