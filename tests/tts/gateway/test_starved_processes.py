"""A process that a busy machine keeps from beating loses nothing."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest
import redis.asyncio

from coordination import keys
from tests.redis_server import eventually
from tests.scripted_core import speech_request, text_segments
from tests.tts.gateway.platform_in_process import Registry, gateway_running, worker_running
from tts.engine.event import EngineEvent, FinishReason, SpeechFinished, SpeechQueued
from tts.gateway.redis import RedisGateway
from tts.text.segment import Segment

pytestmark = pytest.mark.timeout(30)
LOOKS = 6
"""More than make a process without a supervisor a dead one."""


async def given(*texts: str) -> AsyncIterator[Segment]:
    for segment in text_segments(*texts):
        yield segment


async def looks(count: Callable[[], int]) -> None:
    """Wait until `count` has gone up by LOOKS."""
    before = count()
    await eventually(lambda: count() >= before + LOOKS)


async def finished(stream: AsyncIterator[EngineEvent]) -> SpeechFinished:
    events = [event async for event in stream]
    assert isinstance(events[-1], SpeechFinished)
    return events[-1]


async def test_a_worker_speaks_on(client: redis.asyncio.Redis) -> None:
    async with (
        worker_running("w1", client, Registry("tone@1"), supervised=True) as worker,
        gateway_running("g1", client) as gateway,
    ):
        await eventually(lambda: "tone@1" in getattr(gateway.workers.get("w1"), "versions", ()))
        worker.core.held = True
        async with gateway.open(speech_request(), given("one")) as stream:
            async for event in stream:
                if isinstance(event, SpeechQueued):
                    break
            presence, running = worker.consumer._presence, asyncio.Event()
            beat = presence._beat

            async def starved() -> None:
                await running.wait()
                await beat()

            presence._beat = starved  # type: ignore[method-assign]
            await eventually(lambda: "w1" in gateway._sightings._missing_since)
            assert not await client.exists(keys.worker_beat("w1"))
            assert "w1" in gateway.workers
            running.set()
            worker.core.release()
            end = await finished(stream)
        assert end.reason is FinishReason.COMPLETED
        assert stream.attempts == 1


async def test_a_web_process_is_listened_to(client: redis.asyncio.Redis) -> None:
    async with (
        worker_running("w1", client, Registry("tone@1")) as worker,
        gateway_running("g1", client, supervised=True) as gateway,
    ):
        await eventually(lambda: "tone@1" in getattr(gateway.workers.get("w1"), "versions", ()))
        worker.core.held = True
        async with gateway.open(speech_request(), given("one")) as stream:
            await eventually(lambda: worker.consumer._presence._announced == {"g1"})
            await _starve(gateway, client)
            await looks(lambda: worker.consumer._presence._sequence)
            assert worker.consumer._presence._misses["g1"] >= LOOKS - 1
            assert worker.core.jobs
            worker.core.release()
            assert (await finished(stream)).reason is FinishReason.COMPLETED


async def _starve(gateway: RedisGateway, client: redis.asyncio.Redis) -> None:
    """From now on it does not beat, while its other tasks run."""
    watch = gateway._tasks[-1]
    watch.cancel()
    await asyncio.gather(watch, return_exceptions=True)
    await client.delete(keys.gateway_beat(gateway.gateway_id))
