"""A Redis command ends with its task, in whatever moment that is cancelled."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from coordination.connection import redis_async, redis_async_close
from tests.redis_server import RedisServer, redis_program


@pytest.fixture
def redis_url(tmp_path_factory: pytest.TempPathFactory, settings: Settings) -> Iterator[str]:
    """A server of this test's own."""
    folder = Path(tmp_path_factory.mktemp("r"))
    server = RedisServer(redis_program(), folder / "s")
    server.start()
    settings.REDIS_URL = server.url
    yield server.url
    server.stop()


@pytest.mark.usefixtures("redis_url")
async def test_a_cancelled_command_is_cancelled() -> None:
    client = redis_async()
    assert await client.get("anything") is None
    for steps in range(12):
        task = asyncio.ensure_future(client.get("anything"))
        for _ in range(steps):
            await asyncio.sleep(0)
        was_running = task.cancel()
        await asyncio.wait({task})
        assert task.cancelled() is was_running, steps
    assert await client.get("anything") is None
    await redis_async_close()
