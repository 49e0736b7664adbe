"""However many ask at once, a loop's client keeps few connections, and loses none."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import redis.asyncio
from pytest_django.fixtures import Settings
from redis.asyncio.connection import AbstractConnection
from redis.exceptions import TimeoutError as RedisTimeout

from coordination import connection
from coordination.connection import CONNECTIONS, BoundedPool, redis_async, redis_async_close
from tests.redis_server import redis_running

ASKERS = 300


@pytest.fixture
async def client(settings: Settings) -> AsyncIterator[redis.asyncio.Redis]:
    """The running loop's client, of a server that nobody else uses."""
    with redis_running() as server:
        settings.REDIS_URL = server.url
        yield redis_async()
        await redis_async_close()


async def connections(client: redis.asyncio.Redis) -> int:
    return len(await client.client_list())


async def all_taken(client: redis.asyncio.Redis) -> list[AbstractConnection]:
    """As many connections as there are, taken from the pool."""
    pool = client.connection_pool
    assert isinstance(pool, BoundedPool)
    return [await pool.get_connection() for _ in range(CONNECTIONS)]


async def test_many_at_once_share_few_connections(client: redis.asyncio.Redis) -> None:
    numbers = await asyncio.gather(*(client.incr("n") for _ in range(ASKERS)))
    assert sorted(numbers) == list(range(1, ASKERS + 1))
    assert 1 < await connections(client) <= CONNECTIONS


async def test_pipelines_share_them_too(client: redis.asyncio.Redis) -> None:
    async def pair() -> list[int]:
        async with client.pipeline(transaction=True) as pipe:
            pipe.incr("n")
            pipe.decr("n")
            return list(await pipe.execute())

    results = await asyncio.gather(*(pair() for _ in range(ASKERS)))
    assert results == [[1, 0]] * ASKERS
    assert await connections(client) <= CONNECTIONS


async def test_cancelled_askers_take_no_connection_with_them(client: redis.asyncio.Redis) -> None:
    for steps in range(40):
        tasks = [asyncio.ensure_future(client.get("n")) for _ in range(2 * CONNECTIONS)]
        for _ in range(steps):
            await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    # All of them at the same time: each holds one until the last has come.
    taken = await all_taken(client)
    assert len(set(taken)) == CONNECTIONS
    for one in taken:
        await client.connection_pool.release(one)
    assert await client.get("n") is None


async def test_who_waits_too_long_is_told(
    client: redis.asyncio.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = await all_taken(client)
    monkeypatch.setattr(connection, "ANSWER_SECONDS", 0.01)
    with pytest.raises(RedisTimeout, match="in use"):
        await client.get("n")
    for one in taken:
        await client.connection_pool.release(one)
    assert await client.get("n") is None


async def test_a_server_that_is_away_costs_no_connection(
    settings: Settings,
) -> None:
    settings.REDIS_URL = "unix:///nonexistent/redis.sock"
    client = redis_async()
    for _ in range(CONNECTIONS + 1):
        with pytest.raises(redis.exceptions.ConnectionError):
            await client.get("n")
    await redis_async_close()
