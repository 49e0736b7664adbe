"""A Redis server that the gateway's tests share, and a client that begins empty."""

from collections.abc import AsyncIterator, Iterator

import pytest
import redis.asyncio

from tests.redis_server import RedisServer, redis_client, redis_running


@pytest.fixture(scope="module")
def redis_server() -> Iterator[RedisServer]:
    with redis_running() as server:
        yield server


@pytest.fixture
async def client(redis_server: RedisServer) -> AsyncIterator[redis.asyncio.Redis]:
    async with redis_client(redis_server) as connected:
        yield connected
