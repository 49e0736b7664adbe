"""The gateway in process: order of events, credit, cancellation, errors of the text."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.redis_server import eventually
from tests.scripted_core import CHUNK_SAMPLES, ScriptedCore, speech_request, text_segments
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
from tts.gateway.local import InProcessGateway
from tts.gateway.window import WINDOW_SEGMENTS
from tts.text.segment import Segment


@pytest.fixture
async def gateway() -> AsyncIterator[InProcessGateway]:
    gateway = InProcessGateway(ScriptedCore, versions=["tone@1"])
    await gateway.start()
    yield gateway
    await gateway.stop()


def core_of(gateway: InProcessGateway) -> ScriptedCore:
    assert isinstance(gateway.core, ScriptedCore)
    return gateway.core


async def given(*texts: str) -> AsyncIterator[Segment]:
    for segment in text_segments(*texts):
        yield segment


async def test_events_come_in_order_and_end_once(gateway: InProcessGateway) -> None:
    async with gateway.open(speech_request(), given("one", "two")) as stream:
        events: list[EngineEvent] = [event async for event in stream]
    assert [type(event) for event in events] == [
        SpeechQueued, SpeechStarted, AudioChunk, SegmentFinished, AudioChunk, SegmentFinished,
        SpeechFinished,
    ]  # fmt: skip
    assert stream.attempts == 1
    assert stream.worker_id == "local"


async def test_without_credit_nothing_comes_until_it_is_granted(
    gateway: InProcessGateway,
) -> None:
    request = speech_request(initial_credit_samples=CHUNK_SAMPLES)
    async with gateway.open(request, given("one", "two")) as stream:
        chunks = [event async for event in _until(stream, AudioChunk)]
        assert core_of(gateway).jobs["r1", 1].sent == CHUNK_SAMPLES
        await stream.grant(CHUNK_SAMPLES)
        chunks += [event async for event in stream if isinstance(event, AudioChunk)]
    assert [chunk.sequence for chunk in chunks if isinstance(chunk, AudioChunk)] == [0, 1]


async def test_small_grants_travel_together(gateway: InProcessGateway) -> None:
    core = core_of(gateway)
    core.held = True
    async with gateway.open(speech_request(), given("one")) as stream:
        await eventually(lambda: core.jobs)
        for _ in range(24):
            await stream.grant(600)
        assert core.jobs["r1", 1].granted == 12_000


async def test_cancel_ends_the_stream_and_frees_the_core(gateway: InProcessGateway) -> None:
    core = core_of(gateway)
    core.held = True
    async with gateway.open(speech_request(), given("one")) as stream:
        assert isinstance(await anext(aiter(stream)), SpeechQueued)
        await stream.cancel()
        await stream.cancel()
        events = [event async for event in stream]
    assert [event.reason for event in events if isinstance(event, SpeechFinished)] == [
        FinishReason.CANCELLED
    ]
    assert core.cancelled == [("r1", 1)]
    assert not core.jobs


async def test_leaving_the_context_closes_the_segments(gateway: InProcessGateway) -> None:
    closed = asyncio.Event()

    async def endless() -> AsyncIterator[Segment]:
        try:
            yield text_segments("one")[0]
            await asyncio.Event().wait()
        finally:
            closed.set()

    async with gateway.open(speech_request(), endless()) as stream:
        await anext(aiter(stream))
    assert closed.is_set()
    assert core_of(gateway).cancelled == [("r1", 1)]


async def test_a_cancelled_reader_cancels_the_request(gateway: InProcessGateway) -> None:
    core = core_of(gateway)
    core.held = True
    stream = gateway.open(speech_request(), given("one"))
    reader = asyncio.ensure_future(_drain(stream))
    await eventually(lambda: core.jobs)
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    assert core.cancelled == [("r1", 1)]


async def test_a_refusal_is_the_last_event(gateway: InProcessGateway) -> None:
    core_of(gateway).refusal = QueueFull("no room", retry_after=3.0)
    async with gateway.open(speech_request(), given("one")) as stream:
        events = [event async for event in stream]
    assert len(events) == 1
    finished = events[0]
    assert isinstance(finished, SpeechFinished)
    assert (finished.error_code, finished.retry_after) == (ErrorCode.QUEUE_FULL, 3.0)


async def test_no_segment_at_all_is_nothing_to_speak(gateway: InProcessGateway) -> None:
    async with gateway.open(speech_request(), given()) as stream:
        events = [event async for event in stream]
    assert [event.error_code for event in events if isinstance(event, SpeechFinished)] == [
        ErrorCode.NOTHING_TO_SPEAK
    ]


async def test_text_that_fails_ends_the_request_with_an_error(gateway: InProcessGateway) -> None:
    async def failing() -> AsyncIterator[Segment]:
        yield text_segments("one")[0]
        raise RuntimeError("the disk is gone")

    core_of(gateway).held = True
    async with gateway.open(speech_request(), failing()) as stream:
        events = [event async for event in stream]
    finished = events[-1]
    assert isinstance(finished, SpeechFinished)
    assert finished.error_code is ErrorCode.SYNTHESIS_FAILED
    assert core_of(gateway).cancelled == [("r1", 1)]


async def test_endless_text_waits_at_its_source(gateway: InProcessGateway) -> None:
    produced = 0

    async def endless() -> AsyncIterator[Segment]:
        nonlocal produced
        while True:
            yield Segment(produced, "a", text_segments("a")[0].spans, produced, produced + 1)
            produced += 1

    core = core_of(gateway)
    core.held = True
    async with gateway.open(speech_request(), endless()) as stream:
        await eventually(lambda: produced >= WINDOW_SEGMENTS)
        for _ in range(50):
            await asyncio.sleep(0)
        assert produced == WINDOW_SEGMENTS
        core.held = False
        core.release()
        await eventually(lambda: produced > 2 * WINDOW_SEGMENTS)
        await stream.cancel()


async def test_the_same_request_cannot_be_opened_twice(gateway: InProcessGateway) -> None:
    core_of(gateway).held = True
    async with gateway.open(speech_request(), given("one")):
        with pytest.raises(ValueError, match="under way"):
            gateway.open(speech_request(), given("one"))


async def _until(
    stream: AsyncIterator[EngineEvent], kind: type[EngineEvent]
) -> AsyncIterator[EngineEvent]:
    """The first event of this kind, after those before it were passed over."""
    async for event in stream:
        if isinstance(event, kind):
            yield event
            return


async def _drain(stream: AsyncIterator[EngineEvent]) -> None:
    async for _ in stream:
        pass
