"""What a request's stream makes of replies, also of those that arrive twice."""

import asyncio
from collections.abc import AsyncIterator, Collection

import pytest

from tests.scripted_core import speech_request, text_segments
from tts.engine.errors import ErrorCode
from tts.engine.event import (
    AudioChunk,
    EngineEvent,
    FinishReason,
    SegmentFinished,
    SpeechFinished,
    SpeechQueued,
    SpeechStarted,
)
from tts.engine.request import SpeechRequest
from tts.gateway.placement import WorkerRef
from tts.gateway.stream import RequestStream
from tts.gateway.wire import RequestMessage
from tts.text.segment import Segment


class Carrier:
    """Places everything on one worker and keeps what is sent."""

    gateway_id = "g1"

    def __init__(self) -> None:
        self.sent: list[RequestMessage] = []

    def place(self, request: SpeechRequest, tried: Collection[WorkerRef]) -> WorkerRef:
        return WorkerRef("w1", "i1")

    def send(self, worker: WorkerRef, message: RequestMessage) -> None:
        self.sent.append(message)

    def release(self, request_id: str) -> None:
        pass


async def _segments() -> AsyncIterator[Segment]:
    for segment in text_segments("one", "two"):
        yield segment


@pytest.fixture
async def stream() -> AsyncIterator[RequestStream]:
    """A stream whose segments are at the worker."""
    async with RequestStream(speech_request(), _segments(), Carrier()) as stream:
        while stream.worker is None:
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        yield stream


def chunk(sequence: int, segment: int = 0) -> AudioChunk:
    return AudioChunk("r1", 1, sequence, segment, sequence * 2, b"\0\0\0\0", 24_000)


REPLIES: tuple[EngineEvent, ...] = (
    SpeechQueued("r1", 1, 0),
    SpeechStarted("r1", 1, 0.1, 24_000),
    chunk(0),
    chunk(1),
    SegmentFinished("r1", 1, 0, 0, 4),
    chunk(2, 1),
    SegmentFinished("r1", 1, 1, 4, 6),
    SpeechFinished("r1", 1, FinishReason.COMPLETED, segments=2, samples=6),
)


async def test_replies_reach_the_caller_in_order(stream: RequestStream) -> None:
    for reply in REPLIES:
        stream.deliver(reply)
    assert [event async for event in stream] == list(REPLIES)


@pytest.mark.parametrize("sent", range(2, len(REPLIES) + 1))
async def test_replies_that_are_sent_again_count_once(stream: RequestStream, sent: int) -> None:
    for reply in (*REPLIES[:sent], *REPLIES[1:sent], *REPLIES[sent:]):
        stream.deliver(reply)
    assert [event async for event in stream] == list(REPLIES)


async def test_a_chunk_that_is_missing_fails_the_request(stream: RequestStream) -> None:
    for reply in (*REPLIES[:3], chunk(2)):
        stream.deliver(reply)
    end = [event async for event in stream][-1]
    assert isinstance(end, SpeechFinished)
    assert (end.error_code, end.message) == (
        ErrorCode.WORKER_LOST,
        "chunk 1 is missing, 2 arrived",
    )


async def test_an_end_that_counts_more_audio_than_arrived_is_an_error(
    stream: RequestStream,
) -> None:
    for reply in (*REPLIES[:5], REPLIES[-1]):
        stream.deliver(reply)
    end = [event async for event in stream][-1]
    assert isinstance(end, SpeechFinished)
    assert (end.error_code, end.message) == (
        ErrorCode.WORKER_LOST,
        "4 of 6 samples arrived",
    )
