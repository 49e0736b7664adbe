"""A request from its submission to its one end."""

import numpy as np
import pytest

from tests.tts.engine.core_harness import RATE, FakeEngine, Recorder, segment, speech
from tts.engine.config import CoreConfig
from tts.engine.errors import ErrorCode
from tts.engine.event import (
    AudioChunk,
    FinishReason,
    SegmentFinished,
    SpeechFinished,
    SpeechStarted,
)
from tts.engine.stream import default_postprocessor
from tts.engines.base import EngineKind

KINDS = [EngineKind.STEP, EngineKind.UTTERANCE]


@pytest.mark.parametrize("kind", KINDS)
def test_a_request_is_spoken_to_its_end(recorder: Recorder, kind: EngineKind) -> None:
    recorder.add(FakeEngine(recorder.clock, kind, fixed=0.01, rtf=0.1))
    recorder.speak(speech("r"), "abcdefghij", "klm")
    recorder.run()

    events = recorder.of("r")
    assert isinstance(events[0], SpeechStarted)
    assert events[0].sample_rate == RATE
    assert isinstance(events[-1], SpeechFinished)
    end = recorder.end("r")
    assert (end.reason, end.segments) == (FinishReason.COMPLETED, 2)
    assert end.samples == len(recorder.pcm("r")) // 2 == round(1.3 * RATE)
    assert end.peak == pytest.approx(0.11, abs=0.001)
    assert recorder.core.is_empty()


@pytest.mark.parametrize("kind", KINDS)
def test_chunks_count_on_and_segments_say_where_they_are(
    recorder: Recorder, kind: EngineKind
) -> None:
    recorder.add(FakeEngine(recorder.clock, kind, fixed=0.01))
    recorder.speak(speech("r"), "abcdefghij", "klm", "nopq")
    recorder.run()

    chunks = [e for e in recorder.of("r") if isinstance(e, AudioChunk)]
    assert [c.sequence for c in chunks] == list(range(len(chunks)))
    assert [c.offset for c in chunks] == list(np.cumsum([0] + [c.samples for c in chunks[:-1]]))
    assert [c.segment_index for c in chunks] == sorted(c.segment_index for c in chunks)
    borders = [e for e in recorder.of("r") if isinstance(e, SegmentFinished)]
    assert [(b.segment_index, b.start, b.end) for b in borders] == [
        (0, 0, RATE),
        (1, RATE, round(1.3 * RATE)),
        (2, round(1.3 * RATE), round(1.7 * RATE)),
    ]


def test_long_audio_leaves_in_chunks_of_bounded_length(recorder: Recorder) -> None:
    recorder.add(FakeEngine(recorder.clock, EngineKind.UTTERANCE))
    recorder.speak(speech("r"), "x" * 45)
    recorder.run()
    chunks = [e for e in recorder.of("r") if isinstance(e, AudioChunk)]
    assert [c.samples for c in chunks] == [RATE] * 4 + [RATE // 2]


def test_text_may_arrive_while_speaking(recorder: Recorder) -> None:
    recorder.add(FakeEngine(recorder.clock, fixed=0.01))
    recorder.speak(speech("r"), "abc", end=False)
    recorder.run(seconds=2.0)
    assert len(recorder.pcm("r")) // 2 == round(0.3 * RATE)
    assert not recorder.ended("r")
    assert recorder.core.stats().engines[0].resident == 0

    recorder.core.append("r", 1, segment(1, "de"))
    recorder.core.end_input("r", 1)
    recorder.run()
    assert recorder.end("r").samples == round(0.5 * RATE)


def test_speed_counts_in_output_samples(recorder: Recorder) -> None:
    recorder.add(FakeEngine(recorder.clock, fixed=0.01))
    recorder.speak(speech("r", speed=2.0), "abcdefghij")
    recorder.run()
    assert recorder.end("r").samples == RATE // 2


def test_stage_times_add_up(recorder: Recorder) -> None:
    engine = FakeEngine(recorder.clock, fixed=0.05)
    engine.prepare_hook = lambda _: recorder.clock.advance(0.2)
    recorder.add(engine)
    recorder.speak(speech("r"), "ab")
    recorder.clock.advance(0.1)
    recorder.run()
    stages = recorder.end("r").stages
    assert stages.queue == pytest.approx(0.0, abs=1e-6)
    assert stages.prepare == pytest.approx(0.2)
    assert stages.compute == pytest.approx(0.002)
    assert stages.first_audio == pytest.approx(0.25)


def test_all_events_of_a_turn_leave_in_one_call(recorder: Recorder) -> None:
    recorder.add(FakeEngine(recorder.clock, fixed=0.01))
    for name in "abc":
        recorder.speak(speech(name), "xy")
    recorder.core.turn()
    assert len(recorder.turns) == 1
    assert {e.request_id for e in recorder.turns[0]} == {"a", "b", "c"}


def test_a_request_without_text_is_an_error(recorder: Recorder) -> None:
    recorder.add(FakeEngine(recorder.clock))
    recorder.core.submit(speech("r"))
    recorder.core.end_input("r", 1)
    recorder.run()
    assert recorder.end("r").error_code is ErrorCode.NOTHING_TO_SPEAK


def test_audio_that_never_came_is_an_error(recorder: Recorder) -> None:
    recorder.add(FakeEngine(recorder.clock, EngineKind.UTTERANCE, character_seconds=0.0))
    recorder.speak(speech("r"), "abc")
    recorder.run()
    assert recorder.end("r").error_code is ErrorCode.SYNTHESIS_FAILED


def test_an_unknown_version_is_refused(recorder: Recorder) -> None:
    recorder.speak(speech("r"))
    recorder.run()
    end = recorder.end("r")
    assert end.error_code is ErrorCode.VERSION_UNAVAILABLE
    assert "v1" in end.message


def test_the_observer_hears_of_every_step(recorder: Recorder) -> None:
    recorder.add(FakeEngine(recorder.clock, fixed=0.01, per_row=0.001))
    recorder.speak(speech("a"), "ab")
    recorder.speak(speech("b"), "ab")
    recorder.run()
    assert [(s.version, s.batch_size) for s in recorder.steps] == [("v1", 2), ("v1", 2)]
    assert recorder.steps[0].step_seconds == pytest.approx(0.012)
    assert recorder.steps[0].audio_seconds == pytest.approx(0.2)


def test_an_idle_core_wants_no_turn() -> None:
    recorder = Recorder(CoreConfig())
    recorder.add(FakeEngine(recorder.clock))
    assert recorder.core.turn() == float("inf")


@pytest.mark.parametrize("speed", [0.5, 1.0, 2.0])
def test_segments_tile_the_audio_that_the_platforms_own_stage_makes(speed: float) -> None:
    recorder = Recorder(factory=default_postprocessor)
    recorder.add(FakeEngine(recorder.clock, fixed=0.01))
    recorder.speak(speech("r", speed=speed), "abcdefghij", "klmno", "pqrst")
    recorder.run()

    end = recorder.end("r")
    borders = [e for e in recorder.of("r") if isinstance(e, SegmentFinished)]
    assert [b.segment_index for b in borders] == [0, 1, 2]
    assert [b.start for b in borders] == [0, borders[0].end, borders[1].end]
    assert borders[-1].end == pytest.approx(end.samples, abs=2)
    assert end.samples / RATE == pytest.approx(2.0 / speed, rel=0.05)
    assert end.samples == len(recorder.pcm("r")) // 2
