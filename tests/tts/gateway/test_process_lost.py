"""A process that is announced as lost holds nothing any more."""

import pytest
import redis.asyncio

from coordination import keys
from coordination.holds import hold_name
from tests.redis_server import RedisServer
from tts.gateway.announce import process_lost_announce


async def test_its_leases_and_slots_end(
    client: redis.asyncio.Redis, redis_server: RedisServer
) -> None:
    lease, slots = keys.route_lease("tone@1"), keys.limit("tenant", "t1", "leases")
    kept, lost = hold_name("web-2", "req_1"), hold_name("web-1", "req_2")
    for key in (lease, slots):
        await client.zadd(key, {kept: 1.0, lost: 1.0})
    await process_lost_announce(redis_server.url, "web-1")
    for key in (lease, slots):
        assert await client.zrange(key, 0, -1) == [kept.encode()]


async def test_without_redis_it_is_said() -> None:
    with pytest.raises(ConnectionError, match="web-1"):
        await process_lost_announce("unix:///nonexistent/redis.sock", "web-1")
