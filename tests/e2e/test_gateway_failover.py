"""Faults between a gateway and two real workers: kills before and after the first audio, drains."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace

import pytest

from coordination.connection import redis_async_for
from tests.e2e.held_gateway import HELD_REQUESTS
from tests.e2e.synthesizers import ROOT, Synthesizers, synthesizers_prepared, workers_ready
from tests.redis_server import eventually, redis_running
from tests.scripted_core import speech_request, text_segments
from tts.engine.errors import ErrorCode
from tts.engine.event import AudioChunk, EngineEvent, FinishReason, SpeechFinished, SpeechStarted
from tts.engine.request import SpeechRequest
from tts.gateway.announce import process_lost_announce
from tts.gateway.redis import RedisGateway
from tts.gateway.stream import RequestStream
from tts.text.segment import Segment

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

STEP_SECONDS = 2.0
COST_SECONDS = 0.6
TEXT = "a sentence that sounds for several seconds and so takes some steps " * 3
"""A character sounds for 0.06 s: about 12 s of audio, six steps."""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Synthesizers]:
    folder = tmp_path_factory.mktemp("synthesizers")
    with (
        redis_running() as server,
        synthesizers_prepared(
            server, folder, step_seconds=STEP_SECONDS, cost_ms=COST_SECONDS * 1000
        ) as prepared,
    ):
        yield prepared


@pytest.fixture
async def gateway(running: Synthesizers) -> AsyncIterator[RedisGateway]:
    """A gateway that sees the workers w1 and w2 ready; those that died are started anew."""
    client = redis_async_for(running.server.url)
    connected = RedisGateway("g1", client)
    for worker_id in ("w1", "w2"):
        process = running.processes.get(worker_id)
        if process is None or process.poll() is not None:
            running.start(worker_id)
    await connected.start()
    await workers_ready(connected, running, "w1", "w2")
    yield connected
    await connected.stop()
    await client.aclose()


async def given(*texts: str) -> AsyncIterator[Segment]:
    for segment in text_segments(*texts):
        yield segment


def request(running: Synthesizers, request_id: str, **changes: object) -> SpeechRequest:
    return replace(speech_request(request_id), version=running.version, **changes)  # type: ignore[arg-type]  # fields by name


async def until(stream: RequestStream, kind: type[EngineEvent]) -> list[EngineEvent]:
    events = []
    async for event in stream:
        events.append(event)
        if isinstance(event, kind):
            break
    return events


def audio(events: list[EngineEvent]) -> bytes:
    return b"".join(event.pcm for event in events if isinstance(event, AudioChunk))


def finish(events: list[EngineEvent]) -> SpeechFinished:
    assert isinstance(events[-1], SpeechFinished)
    return events[-1]


@pytest.mark.parametrize("announced", [True, False])
async def test_killed_before_the_first_audio_the_caller_notices_nothing(
    running: Synthesizers, gateway: RedisGateway, announced: bool
) -> None:
    async with gateway.open(request(running, "expected", seed=5), given("one", TEXT)) as stream:
        expected = audio([event async for event in stream])
    async with gateway.open(request(running, "r1", seed=5), given("one", TEXT)) as stream:
        await eventually(lambda: stream.worker_id)
        await asyncio.sleep(COST_SECONDS / 4)
        first = stream.worker_id
        running.kill(first)
        if announced:
            await process_lost_announce(running.server.url, first)
        events = [event async for event in stream]
    assert finish(events).reason is FinishReason.COMPLETED
    assert audio(events) == expected
    assert sum(isinstance(event, SpeechStarted) for event in events) == 1
    assert stream.attempts == 2
    assert stream.worker_id != first


@pytest.mark.parametrize("announced", [True, False])
async def test_killed_after_the_first_audio_it_is_a_typed_error_within_a_second(
    running: Synthesizers, gateway: RedisGateway, announced: bool
) -> None:
    async with gateway.open(request(running, "r2"), given(TEXT)) as stream:
        await until(stream, AudioChunk)
        running.kill(stream.worker_id)
        began = time.monotonic()
        if announced:
            await process_lost_announce(running.server.url, stream.worker_id)
        end = finish([event async for event in stream])
    assert end.error_code is ErrorCode.WORKER_LOST
    # Beats expire after 0.9 s and are looked at every 0.1 s; the rest is slack.
    assert time.monotonic() - began < (0.5 if announced else 1.5)
    assert stream.attempts == 1


async def test_a_killed_gateway_frees_its_requests(
    running: Synthesizers, gateway: RedisGateway
) -> None:
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.e2e.held_gateway", running.server.url, running.version],
        env={**running.environment, "PYTHONPATH": os.pathsep.join((str(ROOT), f"{ROOT}/platform"))},
        cwd=ROOT,
    )
    try:
        await eventually(lambda: _requests(gateway) == HELD_REQUESTS, seconds=30)
    finally:
        child.kill()
        child.wait()
    await eventually(lambda: _requests(gateway) == 0, seconds=4.0)


async def test_a_stopped_worker_finishes_what_it_speaks_and_leaves(
    running: Synthesizers, gateway: RedisGateway
) -> None:
    async with gateway.open(request(running, "r3"), given(TEXT)) as stream:
        await until(stream, AudioChunk)
        stopped = stream.worker_id
        process = running.processes[stopped]
        process.send_signal(signal.SIGTERM)
        await eventually(lambda: gateway.workers[stopped].draining)
        async with gateway.open(request(running, "r4"), given("one")) as other:
            assert finish([e async for e in other]).reason is FinishReason.COMPLETED
        assert other.worker_id != stopped
        assert finish([event async for event in stream]).reason is FinishReason.COMPLETED
    assert await asyncio.to_thread(process.wait, 10) == 0
    await eventually(lambda: stopped not in gateway.workers)
    assert "synthesizer_stopped" in running.log(stopped)


async def test_a_second_signal_ends_a_worker_at_once(
    running: Synthesizers, gateway: RedisGateway
) -> None:
    async with gateway.open(request(running, "r5"), given(TEXT)) as stream:
        await until(stream, AudioChunk)
        process = running.processes[stream.worker_id]
        process.send_signal(signal.SIGINT)
        await eventually(lambda: gateway.workers[stream.worker_id].draining)
        process.send_signal(signal.SIGINT)
        assert await asyncio.to_thread(process.wait, 2) == 130
        end = finish([event async for event in stream])
    assert end.error_code is ErrorCode.WORKER_LOST


async def test_changed_weights_and_batching_are_in_force_within_a_second(
    running: Synthesizers, gateway: RedisGateway
) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "manage.py", "shell", "-c",
        "import time; from models_registry.batching import Batching;"
        "from models_registry.services import version_batching_set;"
        f"version_batching_set({running.version!r}, Batching(max_slots=3, max_batch=3));"
        "print(time.time())",
        env=running.environment, cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, _ = await process.communicate()
    changed = float(out.decode().splitlines()[-1])
    await eventually(lambda: all(beat.slots == 3 for beat in gateway.workers.values()))
    # The beat that shows it adds a fifth of a second, and this gateway's look at it another.
    assert time.time() - changed < 2.0


def _requests(gateway: RedisGateway) -> int:
    return sum(beat.active + beat.waiting for beat in gateway.workers.values())
