"""A worker stays in the group that hints at changes for as long as it lives, and no longer."""

import asyncio
import time
from typing import Any

import pytest
import redis.asyncio
from channels.layers import get_channel_layer
from pytest_django.fixtures import Settings

from coordination.epoch import CONFIG_GROUP
from tests.redis_server import RedisServer, eventually, redis_client, redis_running
from tests.tts.gateway.platform_in_process import Registry, Worker, worker_running
from tts.consumers import batching
from voicehost.settings import base

# Channels gives back old connections to the database before each hint.
pytestmark = pytest.mark.django_db(transaction=True)
GROUP = f"vh:layer:group:{CONFIG_GROUP}"
PRODUCT: dict[str, Any] = base.CHANNEL_LAYERS["default"]


@pytest.fixture
def server(settings: Settings) -> Any:
    """A server, and the product's channel layer on it."""
    with redis_running() as running:
        config = {**PRODUCT["CONFIG"], "hosts": [{"address": running.url}]}
        settings.CHANNEL_LAYERS = {"default": {**PRODUCT, "CONFIG": config}}
        yield running


async def member_of(client: redis.asyncio.Redis) -> tuple[bytes, float]:
    """The only member, and when it last joined."""
    async with asyncio.timeout(5.0):
        while True:
            for name, joined in await client.zrange(GROUP, 0, -1, withscores=True):
                return name, joined


async def hinted(worker: Worker) -> None:
    """A hint is sent and puts a change in force, sooner than the epoch is read."""
    reads = worker.registry.reads
    layer: Any = get_channel_layer()
    await layer.group_send(CONFIG_GROUP, {"type": "config.changed"})
    await eventually(lambda: worker.registry.reads > reads, seconds=0.3)


async def test_worker_joins_again_and_is_hinted(
    server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batching, "REJOIN_SECONDS", 0.01)
    async with (
        redis_client(server) as client,
        worker_running("w1", client, Registry("t")) as worker,
    ):
        name, joined = await member_of(client)
        again = joined
        async with asyncio.timeout(5.0):
            while again == joined:
                same, again = await member_of(client)
        assert same == name
        await hinted(worker)


async def test_worker_that_died_is_out_of_the_group_soon(server: RedisServer) -> None:
    async with (
        redis_client(server) as client,
        worker_running("w1", client, Registry("t")) as worker,
    ):
        name, _ = await member_of(client)
        lifetime = PRODUCT["CONFIG"]["group_expiry"]
        await client.zadd(GROUP, {"specific.dead!x": time.time() - lifetime - 2})
        await hinted(worker)
        assert await client.zrange(GROUP, 0, -1) == [name]


def test_worker_may_be_late_and_stays_in_the_group() -> None:
    assert PRODUCT["CONFIG"]["group_expiry"] >= 3 * batching.REJOIN_SECONDS
