"""The gateway over Redis: the plain way, failover before the first audio, typed errors after it."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import redis.asyncio

from coordination import keys
from tests.redis_server import RedisServer, eventually
from tests.scripted_core import speech_request, text_segments
from tests.tts.gateway.platform_in_process import (
    Registry,
    gateway_running,
    worker_running,
)
from tts.engine.errors import ErrorCode, QueueFull
from tts.engine.event import (
    AudioChunk,
    EngineEvent,
    FinishReason,
    SegmentFinished,
    SpeechFinished,
    SpeechQueued,
    SpeechStarted,
)
from tts.gateway.announce import process_lost_announce, worker_lost_announce
from tts.gateway.redis import RedisGateway
from tts.gateway.stream import RequestStream
from tts.text.segment import Segment

pytestmark = pytest.mark.timeout(30)
LONG_TTL_MS = 30_000
"""Far beyond what the tests wait: then it is the announcement that tells."""


async def given(*texts: str) -> AsyncIterator[Segment]:
    for segment in text_segments(*texts):
        yield segment


async def ready(gateway: RedisGateway, *worker_ids: str) -> None:
    await eventually(
        lambda: all(
            worker_id in gateway.workers and gateway.workers[worker_id].versions
            for worker_id in worker_ids
        )
    )


def finish(events: list[EngineEvent]) -> SpeechFinished:
    assert [isinstance(event, SpeechFinished) for event in events[:-1]].count(True) == 0
    assert isinstance(events[-1], SpeechFinished)
    return events[-1]


async def until(stream: RequestStream, kind: type[EngineEvent]) -> list[EngineEvent]:
    events = []
    async for event in stream:
        events.append(event)
        if isinstance(event, kind):
            break
    return events


async def test_a_request_is_spoken(client: redis.asyncio.Redis) -> None:
    registry = Registry("tone@1")
    async with worker_running("w1", client, registry), gateway_running("g1", client) as gateway:
        await ready(gateway, "w1")
        assert await gateway.ready_versions() == {"tone@1"}
        async with gateway.open(speech_request(), given("one", "two")) as stream:
            events = [event async for event in stream]
        assert stream.worker_id == "w1"
    assert [type(event) for event in events] == [
        SpeechQueued, SpeechStarted, AudioChunk, SegmentFinished, AudioChunk, SegmentFinished,
        SpeechFinished,
    ]  # fmt: skip
    assert finish(events).reason is FinishReason.COMPLETED


async def test_two_workers_share_the_load(client: redis.asyncio.Redis) -> None:
    registry = Registry("tone@1")
    async with (
        worker_running("w1", client, registry) as one,
        worker_running("w2", client, registry) as two,
        gateway_running("g1", client) as gateway,
    ):
        await ready(gateway, "w1", "w2")
        one.core.held = two.core.held = True
        streams = [gateway.open(speech_request(f"r{n}"), given("one")) for n in range(16)]
        await eventually(lambda: len(one.core.jobs) + len(two.core.jobs) == 16)
        assert len(one.core.jobs) == len(two.core.jobs) == 8
        for stream in streams:
            await stream.cancel()


async def test_no_worker_is_a_typed_error_with_a_time_to_retry(
    client: redis.asyncio.Redis,
) -> None:
    async with gateway_running("g1", client) as gateway:
        async with gateway.open(speech_request(), given("one")) as stream:
            end = finish([event async for event in stream])
        assert end.error_code is ErrorCode.VERSION_UNAVAILABLE
        assert end.retry_after is not None


async def test_a_version_that_no_route_uses_is_refused(client: redis.asyncio.Redis) -> None:
    async with (
        worker_running("w1", client, Registry("tone@1")),
        gateway_running("g1", client) as gateway,
    ):
        await ready(gateway, "w1")
        async with gateway.open(speech_request(version="other@1"), given("one")) as stream:
            end = finish([event async for event in stream])
        assert end.error_code is ErrorCode.VERSION_UNAVAILABLE
        assert "other@1" in end.message


async def test_a_full_worker_sends_the_request_to_another(client: redis.asyncio.Redis) -> None:
    registry = Registry("tone@1")
    async with (
        worker_running("w1", client, registry) as one,
        worker_running("w2", client, registry) as two,
        gateway_running("g1", client) as gateway,
    ):
        await ready(gateway, "w1", "w2")
        one.core.refusal = QueueFull("no room", retry_after=3.0)
        for number in range(4):
            async with gateway.open(speech_request(f"r{number}"), given("one")) as stream:
                assert finish([e async for e in stream]).reason is FinishReason.COMPLETED
            assert stream.worker_id == "w2"
        two.core.refusal = QueueFull("no room either", retry_after=4.0)
        async with gateway.open(speech_request("r9"), given("one")) as stream:
            end = finish([event async for event in stream])
        assert end.error_code is ErrorCode.QUEUE_FULL
        assert stream.attempts == 2


@pytest.mark.parametrize("announced", [True, False])
async def test_a_worker_that_dies_before_the_first_audio_is_replaced(
    client: redis.asyncio.Redis, announced: bool
) -> None:
    registry = Registry("tone@1")
    async with (
        worker_running("w1", client, registry) as one,
        worker_running("w2", client, registry) as two,
        gateway_running("g1", client) as gateway,
    ):
        await ready(gateway, "w1", "w2")
        one.core.held = two.core.held = True
        async with gateway.open(speech_request(), given("one", "two")) as stream:
            await until(stream, SpeechQueued)
            first, second = (one, two) if one.core.jobs else (two, one)
            await first.die()
            second.core.held = False
            if announced:
                await worker_lost_announce(client, first.consumer.worker_id)
            events = [event async for event in stream]
        assert finish(events).reason is FinishReason.COMPLETED
        assert {event.attempt for event in events} == {2}
        assert [e.segment_index for e in events if isinstance(e, AudioChunk)] == [0, 1]
        assert stream.attempts == 2


@pytest.mark.parametrize("announced", [True, False])
async def test_a_worker_that_dies_after_the_first_audio_is_an_error_soon(
    client: redis.asyncio.Redis,
    redis_server: RedisServer,
    announced: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if announced:
        monkeypatch.setattr("tts.consumers.worker.presence.BEAT_TTL_MS", LONG_TTL_MS)
    registry = Registry("tone@1")
    async with (
        worker_running("w1", client, registry) as one,
        gateway_running("g1", client) as gateway,
    ):
        await ready(gateway, "w1")
        async with gateway.open(speech_request(), _one_then_silence()) as stream:
            await until(stream, AudioChunk)
            began = asyncio.get_running_loop().time()
            await one.die()
            if announced:
                await process_lost_announce(redis_server.url, "w1")
            end = finish([event async for event in stream])
        assert end.error_code is ErrorCode.WORKER_LOST
        assert end.segments == 1
        assert asyncio.get_running_loop().time() - began < 3.0


@pytest.mark.parametrize("announced", [True, False])
async def test_a_dead_gateways_requests_are_freed(
    client: redis.asyncio.Redis,
    redis_server: RedisServer,
    announced: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if announced:
        monkeypatch.setattr("tts.gateway.redis.BEAT_TTL_MS", LONG_TTL_MS)
    registry = Registry("tone@1")
    async with worker_running("w1", client, registry) as worker:
        worker.core.held = True
        gateway = RedisGateway("g1", client)
        await gateway.start()
        try:
            await ready(gateway, "w1")
            gateway.open(speech_request(), given("one"))
            await eventually(lambda: worker.core.jobs)
        finally:
            for task in gateway._tasks:
                task.cancel()
            await asyncio.gather(*gateway._tasks, return_exceptions=True)
            await gateway._watcher.aclose()
        if announced:
            await process_lost_announce(redis_server.url, "g1")
        await eventually(lambda: not worker.core.jobs)


async def test_leaving_a_stream_frees_the_worker(client: redis.asyncio.Redis) -> None:
    async with (
        worker_running("w1", client, Registry("tone@1")) as worker,
        gateway_running("g1", client) as gateway,
    ):
        await ready(gateway, "w1")
        worker.core.held = True
        async with gateway.open(speech_request(), given("one")) as stream:
            await until(stream, SpeechQueued)
        await eventually(lambda: not worker.core.jobs, seconds=0.2)
        # Its id is free again.
        async with gateway.open(speech_request(), given("one")):
            pass


async def test_a_draining_worker_finishes_and_takes_nothing_new(
    client: redis.asyncio.Redis,
) -> None:
    registry = Registry("tone@1")
    async with (
        worker_running("w1", client, registry) as worker,
        gateway_running("g1", client) as gateway,
    ):
        await ready(gateway, "w1")
        worker.core.held = True
        async with gateway.open(speech_request("r1"), given("one")) as stream:
            await until(stream, SpeechQueued)
            worker.stop.set()
            async with gateway.open(speech_request("r2"), given("one")) as refused:
                end = finish([event async for event in refused])
            assert end.error_code is ErrorCode.DRAINING
            worker.core.release()
            assert finish([e async for e in stream]).reason is FinishReason.COMPLETED
        await worker.task
        assert not worker.core.running
        await eventually(lambda: not gateway.workers)


async def test_nothing_stays_in_redis(client: redis.asyncio.Redis) -> None:
    async with (
        worker_running("w1", client, Registry("tone@1")),
        gateway_running("g1", client) as gateway,
    ):
        await ready(gateway, "w1")
        before = await client.dbsize()
        gate = asyncio.Semaphore(50)

        async def speak(number: int) -> None:
            async with gate, gateway.open(speech_request(f"r{number}"), given("a")) as stream:
                async for event in stream:
                    if number % 3 == 0 and isinstance(event, AudioChunk):
                        await stream.cancel()

        async with asyncio.TaskGroup() as group:
            for number in range(2000):
                group.create_task(speak(number))
        # The reader deletes what it has handled in the round trip that reads on.
        await asyncio.sleep(0.1)
        assert await client.xlen(keys.worker_requests("w1")) == 0
        assert await client.xlen(keys.gateway_replies("g1")) == 0
        assert await client.dbsize() == before
    assert await client.dbsize() <= 0


async def test_a_restart_of_redis_fails_what_is_open_and_then_goes_on(
    client: redis.asyncio.Redis, redis_server: RedisServer
) -> None:
    async with (
        worker_running("w1", client, Registry("tone@1")) as worker,
        gateway_running("g1", client) as gateway,
    ):
        await ready(gateway, "w1")
        async with gateway.open(speech_request("r1"), _one_then_silence()) as stream:
            await until(stream, AudioChunk)
            redis_server.stop()
            end = finish([event async for event in stream])
            assert end.error_code is ErrorCode.WORKER_LOST
        async with gateway.open(speech_request("r2"), given("one")) as stream:
            end = finish([event async for event in stream])
            assert end.error_code is ErrorCode.VERSION_UNAVAILABLE
        redis_server.start()
        await ready(gateway, "w1")
        await eventually(lambda: not worker.core.jobs)
        async with gateway.open(speech_request("r3"), given("one")) as stream:
            assert finish([e async for e in stream]).reason is FinishReason.COMPLETED


async def test_malformed_messages_are_dropped(client: redis.asyncio.Redis) -> None:
    async with (
        worker_running("w1", client, Registry("tone@1")) as worker,
        gateway_running("g1", client) as gateway,
    ):
        await ready(gateway, "w1")
        for name, value in ((b"f", b"\xc1"), (b"x", b"y"), (b"f", b"\x91\x93\xa4open\xa2g1\x80")):
            for stream_key in (keys.worker_requests("w1"), keys.gateway_replies("g1")):
                await client.xadd(stream_key, {name: value})
        async with gateway.open(speech_request(), given("one")) as stream:
            assert finish([e async for e in stream]).reason is FinishReason.COMPLETED
        assert not worker.core.jobs


async def _one_then_silence() -> AsyncIterator[Segment]:
    yield text_segments("one")[0]
    await asyncio.Event().wait()
