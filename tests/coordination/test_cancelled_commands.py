"""A Redis command ends with its task, in whatever moment that is cancelled."""

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis.exceptions
from pytest_django.fixtures import Settings

from coordination.connection import redis_async, redis_async_close, redis_async_for
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


async def test_a_server_that_hangs_fails_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coordination.connection.ANSWER_SECONDS", 0.2)
    gets, late = 0, asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the first GET too late, and all else at once."""
        nonlocal gets
        with contextlib.suppress(ConnectionError):
            while sent := await reader.read(1_000):
                answers = [b"+OK\r\n"] * sent.count(b"*")
                if b"GET" in sent:
                    gets += 1
                    answers = [b"+prompt\r\n"]
                    if gets == 1:
                        await late.wait()
                        answers = [b"+late\r\n"]
                writer.writelines(answers)
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        client = redis_async_for(f"redis://127.0.0.1:{port}?protocol=2")
        with pytest.raises(redis.exceptions.TimeoutError):
            await client.get("key")
        late.set()
        assert await client.get("key") == b"prompt"
        await client.aclose()
