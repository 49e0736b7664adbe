"""Messages survive the wire unchanged, and what is malformed is refused with its ids."""

import contextlib

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tts.engine.errors import ErrorCode
from tts.engine.event import (
    AudioChunk,
    EngineEvent,
    FinishReason,
    SegmentFinished,
    SpeechFinished,
    SpeechQueued,
    SpeechStarted,
    StageTimes,
)
from tts.engine.request import Priority, Profile, SpeechRequest, VoicePart, VoiceSpec
from tts.gateway import wire
from tts.text.segment import Language, LanguageSpan, Mark, Segment

counts = st.integers(0, 2**62)
floats = st.floats(allow_nan=False)
texts = st.text(max_size=20)
part = st.builds(VoicePart, speaker=texts, weight=floats, payload=st.binary(max_size=50))
voices = st.builds(
    VoiceSpec,
    name=texts,
    engine=texts,
    parts=st.lists(part, max_size=2).map(tuple),
    languages=st.lists(texts, max_size=2).map(tuple),
    companion=st.none(),
    gain_db=floats,
)
requests = st.builds(
    SpeechRequest,
    request_id=texts,
    tenant_id=texts,
    version=texts,
    profile=st.sampled_from(Profile),
    priority=st.sampled_from(Priority),
    voice=st.builds(
        VoiceSpec,
        name=texts,
        engine=texts,
        parts=st.just((VoicePart("a"),)),
        languages=st.just(("zh",)),
        companion=st.none() | voices,
    ),
    speed=floats,
    seed=st.none() | counts,
    max_queue_seconds=floats,
    initial_credit_samples=counts,
    attempt=counts,
    style=texts,
)
segments = st.builds(
    Segment,
    index=counts,
    source=texts,
    spans=st.lists(
        st.builds(
            LanguageSpan,
            language=st.sampled_from(Language),
            spoken=texts,
            start=counts,
            end=counts,
        ),
        max_size=3,
    ).map(tuple),
    start=counts,
    end=counts,
    marks=st.lists(st.builds(Mark, token=texts, offset=counts), max_size=3).map(tuple),
    prompt=st.lists(texts, max_size=3).map(tuple),
)
worker_messages = st.one_of(
    st.builds(wire.Open, gateway_id=texts, request=requests),
    st.builds(wire.SegmentSent, request_id=texts, attempt=counts, segment=segments),
    st.builds(wire.InputEnded, request_id=texts, attempt=counts),
    st.builds(wire.CreditGranted, request_id=texts, attempt=counts, total=counts),
    st.builds(wire.CancelSent, request_id=texts, attempt=counts),
    st.builds(wire.GatewayDied, gateway_id=texts),
)
events: st.SearchStrategy[EngineEvent] = st.one_of(
    st.builds(SpeechQueued, request_id=texts, attempt=counts, position=counts),
    st.builds(
        SpeechStarted, request_id=texts, attempt=counts, queue_seconds=floats, sample_rate=counts
    ),
    st.builds(
        AudioChunk,
        request_id=texts,
        attempt=counts,
        sequence=counts,
        segment_index=counts,
        offset=counts,
        pcm=st.binary(max_size=200),
        sample_rate=counts,
    ),
    st.builds(
        SegmentFinished,
        request_id=texts,
        attempt=counts,
        segment_index=counts,
        start=counts,
        end=counts,
    ),
    st.builds(
        SpeechFinished,
        request_id=texts,
        attempt=counts,
        reason=st.sampled_from(FinishReason),
        segments=counts,
        samples=counts,
        stages=st.builds(StageTimes, queue=floats, compute=floats, first_audio=floats),
        error_code=st.none() | st.sampled_from(ErrorCode),
        message=texts,
        retry_after=st.none() | floats,
        peak=floats,
        clipped=counts,
    ),
)


@settings(max_examples=80, deadline=None)
@given(st.lists(worker_messages, max_size=5))
def test_what_a_gateway_sends_arrives_unchanged_and_in_order(
    messages: list[wire.WorkerMessage],
) -> None:
    frames = wire.frames_encode([wire.message_encode(message) for message in messages])
    decoded = [
        wire.worker_message_decode(raw) for frame in frames for raw in wire.frame_decode(frame)
    ]
    assert decoded == messages


@settings(max_examples=80, deadline=None)
@given(st.lists(events, max_size=5))
def test_events_arrive_unchanged_and_in_order(sent: list[EngineEvent]) -> None:
    frames = wire.frames_encode([wire.event_encode(event) for event in sent])
    messages = [
        wire.gateway_message_decode(raw) for frame in frames for raw in wire.frame_decode(frame)
    ]
    received = [m.event for m in messages if not isinstance(m, wire.WorkerDied)]
    assert received == sent
    assert [type(event) for event in received] == [type(event) for event in sent]


def test_segment_of_a_release_that_knew_no_control_tokens_has_none() -> None:
    body = {"index": 0, "source": "Hi", "spans": [], "start": 0, "end": 2}
    decoded = wire.worker_message_decode(msgspec.msgpack.encode(["segment", "r1", 1, body]))
    assert isinstance(decoded, wire.SegmentSent)
    assert (decoded.segment.marks, decoded.segment.prompt) == ((), ())


def test_worker_lost_is_a_message_to_a_gateway() -> None:
    lost = wire.WorkerDied("w1", "abc")
    assert wire.gateway_message_decode(wire.message_encode(lost)) == lost


def test_frames_are_closed_before_they_grow_large() -> None:
    messages = [bytes([0xC4, 0xFF]) + bytes(255) for _ in range(3 * wire.FRAME_BYTES // 257)]
    frames = wire.frames_encode(messages)
    assert len(frames) in {3, 4}
    assert all(len(frame) < wire.FRAME_BYTES * 1.1 for frame in frames)
    assert [raw for frame in frames for raw in wire.frame_decode(frame)] == messages


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=64))
def test_any_bytes_are_a_message_or_a_wire_error(raw: bytes) -> None:
    for decode in (wire.worker_message_decode, wire.gateway_message_decode, wire.frame_decode):
        with contextlib.suppress(wire.WireError):
            decode(raw)


def test_a_malformed_open_still_names_its_request_and_gateway() -> None:
    raw = msgspec.msgpack.encode(["open", "g1", {"request_id": "r1", "speed": "fast"}])
    with pytest.raises(wire.WireError, match="not a message to a worker") as caught:
        wire.worker_message_decode(raw)
    assert (caught.value.request_id, caught.value.gateway_id) == ("r1", "g1")


@pytest.mark.parametrize(
    "value",
    [
        ["segment", "r1", "1", {}],
        ["credit", "r1", 1, 2.5],
        ["segment", "r1", 1, {"index": 0}],
    ],
)
def test_wrong_types_are_refused_with_the_request_id(value: list[object]) -> None:
    with pytest.raises(wire.WireError) as caught:
        wire.worker_message_decode(msgspec.msgpack.encode(value))
    assert caught.value.request_id == "r1"
