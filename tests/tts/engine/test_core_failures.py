"""What goes wrong hits only whom it concerns, once."""

from collections.abc import Sequence

import numpy as np
import pytest

from tests.tts.engine.core_harness import RATE, FakeEngine, PlainPcm, Recorder, segment, speech
from tts.engine.config import BatchingConfig, CoreConfig
from tts.engine.errors import ErrorCode, NothingToSpeak, SynthesisFailed, VoiceUnavailable
from tts.engine.event import FinishReason
from tts.engines.base import EngineKind, Samples, StepResult, Utterance
from tts.text.segment import Segment


class FaultyEngine(FakeEngine):
    """Rows whose text holds "bad" end with an error."""

    def _result(self, utterance: Utterance, samples: int, *, finished: bool) -> StepResult:
        result = super()._result(utterance, samples, finished=finished)
        assert isinstance(utterance.payload, Segment)
        if "bad" not in utterance.payload.source:
            return result
        self.made.pop(utterance.utterance_id, None)
        error = SynthesisFailed("asked to")
        return StepResult(utterance.utterance_id, np.zeros(0, np.float32), error=error)


@pytest.mark.parametrize("kind", [EngineKind.STEP, EngineKind.UTTERANCE])
def test_a_bad_row_leaves_its_mates_alone(recorder: Recorder, kind: EngineKind) -> None:
    recorder.add(FaultyEngine(recorder.clock, kind, fixed=0.01))
    recorder.speak(speech("bad"), "a bad one", "more")
    recorder.speak(speech("good"), "fine")
    recorder.run()
    assert recorder.end("bad").error_code is ErrorCode.SYNTHESIS_FAILED
    assert recorder.end("good").reason is FinishReason.COMPLETED
    assert recorder.core.is_empty()


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (VoiceUnavailable("no such voice"), ErrorCode.VOICE_UNAVAILABLE),
        (KeyError("secret text"), ErrorCode.SYNTHESIS_FAILED),
    ],
)
def test_a_segment_that_cannot_be_prepared_ends_its_request(
    recorder: Recorder, error: Exception, code: ErrorCode
) -> None:
    engine = FakeEngine(recorder.clock, fixed=0.01)

    def fail(segment: Segment) -> None:
        if segment.source == "bad":
            raise error

    engine.prepare_hook = fail
    recorder.add(engine)
    recorder.speak(speech("bad"), "bad", "more")
    recorder.speak(speech("good"), "fine")
    recorder.run()
    assert recorder.end("bad").error_code is code
    assert "secret" not in recorder.end("bad").message
    assert recorder.end("good").reason is FinishReason.COMPLETED
    assert recorder.core.is_empty()


def test_a_silent_segment_is_passed_over(recorder: Recorder) -> None:
    engine = FakeEngine(recorder.clock, fixed=0.01)

    def silent(segment: Segment) -> None:
        if segment.source == "--":
            raise NothingToSpeak("no letters")

    engine.prepare_hook = silent
    recorder.add(engine)
    recorder.speak(speech("some"), "abc", "--", "de")
    recorder.speak(speech("none"), "--")
    recorder.run()
    assert recorder.end("some").samples == RATE // 2
    assert recorder.end("some").segments == 3
    assert recorder.end("none").error_code is ErrorCode.NOTHING_TO_SPEAK


def test_a_step_that_raises_ends_its_batch_once_and_the_engine_goes_on(recorder: Recorder) -> None:
    engine = FakeEngine(recorder.clock, fixed=0.01)
    recorder.add(engine, batching=BatchingConfig(max_slots=2, max_batch=2))
    for name in ("a", "b", "later"):
        recorder.speak(speech(name), "abcde")
    recorder.core.turn()

    def once(active: Sequence[Utterance]) -> None:
        engine.step_hook = lambda active: None
        raise RuntimeError("out of memory")

    engine.step_hook = once
    recorder.run()
    for name in ("a", "b"):
        assert recorder.end(name).error_code is ErrorCode.SYNTHESIS_FAILED
    assert recorder.end("later").reason is FinishReason.COMPLETED
    assert sorted(engine.released) == [0, 1]
    assert recorder.core.is_empty()


def test_an_engine_that_keeps_failing_takes_nothing_more() -> None:
    recorder = Recorder(CoreConfig(max_failures=2))
    engine = FakeEngine(recorder.clock, fixed=0.01)

    def broken(active: Sequence[Utterance]) -> None:
        raise RuntimeError("the device is lost")

    engine.step_hook = broken
    recorder.add(engine, batching=BatchingConfig(max_slots=1, max_batch=1))
    for name in ("a", "b", "c"):
        recorder.speak(speech(name))
    recorder.run()
    assert recorder.ends_by_reason() == {
        ErrorCode.SYNTHESIS_FAILED: ["a", "b"],
        ErrorCode.VERSION_UNAVAILABLE: ["c"],
    }
    recorder.speak(speech("d"))
    recorder.run()
    assert recorder.end("d").error_code is ErrorCode.VERSION_UNAVAILABLE
    assert recorder.core.stats().engines[0].broken


def test_audio_processing_that_fails_ends_its_request(recorder: Recorder) -> None:
    class Bad(PlainPcm):
        def process(self, audio: Samples) -> bytes:
            raise ValueError("not finite")

    def factory(rate: int, speed: float, gain_db: float) -> PlainPcm:
        return (Bad if speed == 2.0 else PlainPcm)(rate, speed, gain_db)

    recorder = Recorder(factory=factory)
    recorder.add(FakeEngine(recorder.clock, fixed=0.01))
    recorder.speak(speech("bad", speed=2.0))
    recorder.speak(speech("good"))
    recorder.run()
    assert recorder.end("bad").error_code is ErrorCode.SYNTHESIS_FAILED
    assert recorder.end("good").reason is FinishReason.COMPLETED
    assert recorder.core.is_empty()


def test_a_sink_that_fails_stops_nothing(recorder: Recorder) -> None:
    recorder.add(FakeEngine(recorder.clock, fixed=0.01))
    recorder.sink_error = RuntimeError("the pipe is closed")
    recorder.speak(speech("r"))
    recorder.core.turn()
    recorder.sink_error = None
    recorder.run()
    assert recorder.end("r").reason is FinishReason.COMPLETED


def test_commands_for_others_attempts_are_ignored(recorder: Recorder) -> None:
    recorder.add(FakeEngine(recorder.clock, fixed=0.01))
    recorder.speak(speech("r", attempt=2), "abc", end=False)
    recorder.speak(speech("r", attempt=1), "zzzz")
    recorder.speak(speech("r", attempt=2), "zzzz", end=False)
    recorder.core.cancel("r", 1)
    recorder.core.cancel("unknown", 1)
    recorder.core.grant("unknown", 1, 5)
    recorder.core.append("r", 1, segment(7))
    recorder.core.end_input("r", 2)
    recorder.run()
    end = recorder.end("r")
    assert (end.attempt, end.reason) == (2, FinishReason.COMPLETED)


def test_a_newer_attempt_replaces_an_older(recorder: Recorder) -> None:
    recorder.add(FakeEngine(recorder.clock, fixed=0.01))
    recorder.speak(speech("r"), "abcdef")
    recorder.core.turn()
    recorder.speak(speech("r", attempt=2), "abc")
    recorder.run()
    ends = [(e.attempt, e.reason) for e in recorder.ends("r")]
    assert ends == [(1, FinishReason.CANCELLED), (2, FinishReason.COMPLETED)]
    assert recorder.core.is_empty()
