"""Credit: nothing is sent that the listener has no room for, and room comes back by grants."""

import pytest

from tests.tts.engine.core_harness import RATE, FakeEngine, Recorder, speech
from tts.engine.config import BatchingConfig, CoreConfig
from tts.engine.errors import ErrorCode
from tts.engine.event import FinishReason
from tts.engines.base import EngineKind


def sent(recorder: Recorder, request_id: str) -> float:
    return len(recorder.pcm(request_id)) / 2 / RATE


@pytest.mark.parametrize("kind", [EngineKind.STEP, EngineKind.UTTERANCE])
def test_sending_stops_without_credit_and_goes_on_with_it(
    recorder: Recorder, kind: EngineKind
) -> None:
    recorder.add(FakeEngine(recorder.clock, kind, fixed=0.01))
    recorder.speak(speech("r", initial_credit_samples=RATE // 2), "a" * 30, "b" * 30, "c" * 30)
    recorder.run(seconds=5.0)
    assert sent(recorder, "r") <= 1.5
    before = sent(recorder, "r")
    recorder.run(seconds=5.0)
    assert sent(recorder, "r") == before

    for _ in range(20):
        recorder.core.grant("r", 1, RATE // 2)
        recorder.run(seconds=1.0)
    assert recorder.end("r").reason is FinishReason.COMPLETED
    assert sent(recorder, "r") == pytest.approx(9.0)
    assert recorder.core.is_empty()


def test_a_step_row_overdraws_by_one_chunk_at_most(recorder: Recorder) -> None:
    recorder.add(FakeEngine(recorder.clock, fixed=0.01, step_seconds=0.1))
    recorder.speak(speech("r", initial_credit_samples=RATE // 4), "a" * 50)
    recorder.run(seconds=2.0)
    assert sent(recorder, "r") == pytest.approx(0.3)


def test_a_listener_that_takes_nothing_is_given_up() -> None:
    recorder = Recorder(CoreConfig(stall_seconds=30.0))
    recorder.add(FakeEngine(recorder.clock, fixed=0.01))
    recorder.speak(speech("r", initial_credit_samples=RATE), "a" * 50)
    recorder.run(seconds=25.0)
    assert not recorder.ended("r")
    recorder.core.grant("r", 1, RATE)
    recorder.run(seconds=29.0)
    assert not recorder.ended("r")
    recorder.run(seconds=10.0)
    assert recorder.end("r").error_code is ErrorCode.STREAM_STALLED
    assert recorder.core.is_empty()


def test_the_core_wakes_by_itself_to_give_a_listener_up(recorder: Recorder) -> None:
    recorder.add(FakeEngine(recorder.clock, fixed=0.01))
    recorder.speak(speech("r", initial_credit_samples=1), "a" * 50)
    recorder.run(seconds=1.0)
    stalled_at = recorder.core.turn()
    assert recorder.clock.now < stalled_at < recorder.clock.now + 30.0


def test_a_stalled_row_yields_its_slot_and_is_computed_again(recorder: Recorder) -> None:
    engine = FakeEngine(recorder.clock, fixed=0.01)
    recorder.add(engine, batching=BatchingConfig(max_slots=1, max_batch=1))
    recorder.speak(speech("slow", initial_credit_samples=RATE // 2), "a" * 20)
    recorder.run(seconds=1.0)
    recorder.speak(speech("quick"), "abc")
    recorder.run(seconds=1.0)
    assert recorder.end("quick").reason is FinishReason.COMPLETED
    assert len(engine.released) == 1

    recorder.core.grant("slow", 1, 10 * RATE)
    recorder.run()
    assert recorder.end("slow").samples == 2 * RATE
    assert recorder.core.is_empty()


def test_a_stalled_request_starts_no_segment_in_a_lane(recorder: Recorder) -> None:
    engine = FakeEngine(recorder.clock, EngineKind.UTTERANCE, rtf=0.1)
    recorder.add(engine)
    recorder.speak(speech("slow", initial_credit_samples=RATE), *["a" * 30] * 6)
    recorder.run(seconds=5.0)
    assert len(engine.batches) <= 2
