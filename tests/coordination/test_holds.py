"""What a dead process held ends at once, and nothing else does."""

from collections.abc import AsyncIterator

import pytest
import redis.asyncio

from coordination import keys
from coordination.connection import redis_async_for
from coordination.holds import hold_name, holds_release
from tests.redis_server import redis_running

LEASE = keys.route_lease("tone@1")
SLOTS = keys.limit("key", "k1", "standard.leases")


@pytest.fixture
async def client() -> AsyncIterator[redis.asyncio.Redis]:
    with redis_running() as server:
        connected = redis_async_for(server.url)
        yield connected
        await connected.aclose()


async def hold(client: redis.asyncio.Redis, key: str, *owners: str) -> None:
    await client.zadd(key, {hold_name(owner, "req_1"): 1.0 for owner in owners})


async def owners(client: redis.asyncio.Redis, key: str) -> set[str]:
    return {name.decode().partition("/")[0] for name in await client.zrange(key, 0, -1)}


async def test_leases_and_slots_of_a_process_and_its_children_end(
    client: redis.asyncio.Redis,
) -> None:
    await hold(client, LEASE, "web-1", "web-2", "web-1:7", "web-11")
    await hold(client, SLOTS, "web-1", "web-2")
    assert await holds_release(client, "web-1") == 3
    assert await owners(client, LEASE) == {"web-2", "web-11"}
    assert await owners(client, SLOTS) == {"web-2"}


async def test_nothing_stays_of_what_only_the_dead_held(client: redis.asyncio.Redis) -> None:
    await hold(client, LEASE, "web-1")
    await holds_release(client, "web-1")
    assert await client.keys("*") == []


async def test_other_keys_are_left_alone(client: redis.asyncio.Redis) -> None:
    requests = keys.limit("key", "k1", "requests")
    pipeline = client.pipeline()
    pipeline.hset(requests, mapping={"level": 1})
    await pipeline.execute()
    await client.set("vh:epoch", "web-1/req_1")
    assert await holds_release(client, "web-1") == 0
    assert await client.exists(requests, "vh:epoch") == 2
