"""A worker that dies while it loads: its beat would last for 15 s, but nobody is sent to it."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator

import pytest
import redis.asyncio

from coordination import keys
from tests.redis_server import RedisServer, eventually
from tests.scripted_core import speech_request, text_segments
from tests.tts.gateway.platform_in_process import (
    Registry,
    Worker,
    gateway_running,
    worker_running,
)
from tts.consumers.worker.loading import Version
from tts.engine.errors import ErrorCode
from tts.engine.event import EngineEvent, FinishReason, SpeechFinished
from tts.engine.request import Profile
from tts.engines.base import SpeechEngine
from tts.gateway.announce import process_lost_announce
from tts.gateway.heartbeat import BEAT_TTL_MS, LOADING_TTL_MS
from tts.gateway.redis import RedisGateway
from tts.text.segment import Segment

pytestmark = pytest.mark.timeout(30)
SOON_SECONDS = 5.0
"""Far less than the beat would last."""


class SlowLoad:
    """A loader that loads until it is told to end."""

    def __init__(self) -> None:
        self.began = threading.Event()
        self.end = threading.Event()

    def load(self, version: Version, profile: Profile, *, demanded: bool) -> SpeechEngine:
        self.began.set()
        self.end.wait()
        raise RuntimeError("its process is gone")

    def put_into(self, worker: Worker) -> None:
        worker.loader.load = self.load  # type: ignore[method-assign]


@pytest.fixture
def slow() -> Iterator[SlowLoad]:
    loading = SlowLoad()
    yield loading
    loading.end.set()


async def given(*texts: str) -> AsyncIterator[Segment]:
    for segment in text_segments(*texts):
        yield segment


async def heard(gateway: RedisGateway) -> SpeechFinished:
    """The end of one request, which comes soon."""
    async with asyncio.timeout(SOON_SECONDS):
        async with gateway.open(speech_request(), given("one")) as stream:
            events: list[EngineEvent] = [event async for event in stream]
    assert isinstance(events[-1], SpeechFinished)
    return events[-1]


async def loading(gateway: RedisGateway, worker_id: str) -> None:
    await eventually(
        lambda: worker_id in gateway.workers and "tone@1" in gateway.workers[worker_id].loading
    )


async def die(worker: Worker, slow: SlowLoad) -> None:
    """The process ends, and its loading with it."""
    dying = asyncio.create_task(worker.die())
    await asyncio.sleep(0)
    slow.end.set()
    await dying


async def test_its_beat_outlasts_it(client: redis.asyncio.Redis, slow: SlowLoad) -> None:
    """What the others are about: without an announcement it counts as alive."""
    async with (
        worker_running("w1", client, Registry("tone@1")) as one,
        gateway_running("g1", client) as gateway,
    ):
        slow.put_into(one)
        await loading(gateway, "w1")
        await die(one, slow)
        assert BEAT_TTL_MS < await client.pttl(keys.worker_beat("w1")) <= LOADING_TTL_MS


async def test_who_waits_for_it_is_served_by_another(
    client: redis.asyncio.Redis, redis_server: RedisServer, slow: SlowLoad
) -> None:
    registry = Registry("tone@1")
    async with worker_running("w1", client, registry) as one:
        slow.put_into(one)
        async with gateway_running("g1", client) as gateway:
            await loading(gateway, "w1")
            waiting = asyncio.create_task(heard(gateway))
            await eventually(lambda: one.consumer._intake.requests.waiting)
            async with worker_running("w2", client, registry):
                await eventually(lambda: "w2" in gateway.workers and gateway.workers["w2"].versions)
                await die(one, slow)
                await process_lost_announce(redis_server.url, "w1")
                assert (await waiting).reason is FinishReason.COMPLETED


async def test_nobody_is_sent_to_it_any_more(
    client: redis.asyncio.Redis, redis_server: RedisServer, slow: SlowLoad
) -> None:
    async with (
        worker_running("w1", client, Registry("tone@1")) as one,
        gateway_running("g1", client) as gateway,
    ):
        slow.put_into(one)
        await loading(gateway, "w1")
        await die(one, slow)
        await process_lost_announce(redis_server.url, "w1")
        assert await client.exists(keys.worker_beat("w1"), keys.worker_requests("w1")) == 0
        await eventually(lambda: "w1" not in gateway.workers)
        end = await heard(gateway)
    assert end.error_code is ErrorCode.VERSION_UNAVAILABLE
    assert end.retry_after is not None
