"""Cancelling, removing a version, draining: everything is free afterwards."""

import pytest

from tests.tts.engine.core_harness import FakeEngine, Recorder, speech
from tts.engine.config import BatchingConfig
from tts.engine.errors import ErrorCode
from tts.engine.event import FinishReason
from tts.engine.request import Profile
from tts.engines.base import EngineKind


@pytest.mark.parametrize("kind", [EngineKind.STEP, EngineKind.UTTERANCE])
def test_a_cancelled_request_is_free_within_one_turn(recorder: Recorder, kind: EngineKind) -> None:
    engine = FakeEngine(recorder.clock, kind, fixed=0.01, rtf=1.0)
    recorder.add(engine)
    recorder.speak(speech("r"), "a" * 50)
    recorder.core.turn()
    recorder.core.cancel("r", 1)
    recorder.core.turn()
    assert recorder.end("r").reason is FinishReason.CANCELLED
    assert engine.released == [0]
    assert recorder.core.is_empty()


def test_cancelling_twice_or_too_late_says_nothing_more(recorder: Recorder) -> None:
    recorder.add(FakeEngine(recorder.clock, fixed=0.01))
    recorder.speak(speech("r"), "ab")
    recorder.run()
    recorder.core.cancel("r", 1)
    recorder.core.cancel("r", 1)
    recorder.run()
    assert recorder.end("r").reason is FinishReason.COMPLETED


def test_a_removed_version_finishes_what_it_has_and_closes(recorder: Recorder) -> None:
    engine = FakeEngine(recorder.clock, fixed=0.01)
    recorder.add(engine)
    recorder.speak(speech("old"), "abcdef")
    recorder.core.turn()
    removed = recorder.core.engine_remove("v1")
    recorder.speak(speech("new"))
    recorder.core.turn()
    assert recorder.end("new").error_code is ErrorCode.VERSION_UNAVAILABLE
    assert not removed.done()
    assert engine.closes == 0

    recorder.run()
    assert recorder.end("old").reason is FinishReason.COMPLETED
    recorder.core.turn()
    assert removed.result(0) is None
    assert engine.closes == 1
    assert recorder.core.stats().leases == {}


def test_a_version_can_be_added_beside_another_and_again(recorder: Recorder) -> None:
    recorder.add(FakeEngine(recorder.clock, fixed=0.01))
    twice = recorder.core.engine_add(
        "v1", Profile.STANDARD, FakeEngine(recorder.clock), BatchingConfig()
    )
    recorder.add(FakeEngine(recorder.clock, fixed=0.01), version="v2")
    with pytest.raises(ValueError, match="already"):
        twice.result(0)
    recorder.speak(speech("one"), "abcdef")
    recorder.speak(speech("two", version="v2"), "abcdef")
    recorder.clock.advance(0.1)
    recorder.core.turn()
    assert recorder.core.stats().leases == {"v1": 1, "v2": 1}
    recorder.run()
    assert recorder.core.engine_remove("unknown") is not None
    recorder.core.engine_remove("v1")
    recorder.core.turn()
    recorder.add(FakeEngine(recorder.clock, fixed=0.01))
    recorder.speak(speech("again"), "ab")
    recorder.run()
    assert recorder.end("again").reason is FinishReason.COMPLETED


def test_new_settings_are_in_force_from_the_next_turn(recorder: Recorder) -> None:
    engine = FakeEngine(recorder.clock, fixed=0.01)
    recorder.add(engine, batching=BatchingConfig(max_slots=1, max_batch=1))
    for name in "abc":
        recorder.speak(speech(name), "abcdef")
    recorder.core.turn()
    recorder.core.batching_set("v1", BatchingConfig(max_slots=3, max_batch=3))
    recorder.core.turn()
    assert [len(batch) for batch in engine.batches] == [1, 3]
    recorder.core.batching_set("v1", BatchingConfig(max_slots=1, max_batch=1))
    recorder.core.turn()
    assert len(engine.batches[-1]) == 1
    recorder.run()
    assert len(recorder.ends_by_reason()[FinishReason.COMPLETED]) == 3


def test_draining_refuses_finishes_and_then_ends_the_rest(recorder: Recorder) -> None:
    engine = FakeEngine(recorder.clock, fixed=0.1)
    recorder.add(engine, batching=BatchingConfig(max_slots=2, max_batch=2))
    recorder.speak(speech("short"), "abc")
    recorder.speak(speech("long"), "a" * 100)
    recorder.speak(speech("waiting"))
    recorder.core.turn()
    removed = recorder.core.engine_remove("v1")
    recorder.core.drain(2.0)
    recorder.speak(speech("new"))
    recorder.core.turn()
    assert recorder.end("new").error_code is ErrorCode.DRAINING
    assert recorder.end("waiting").error_code is ErrorCode.DRAINING
    recorder.run()
    assert recorder.end("short").reason is FinishReason.COMPLETED
    assert recorder.end("long").error_code is ErrorCode.DRAINING
    assert recorder.clock.now == pytest.approx(102.0, abs=0.2)
    assert engine.closes == 1
    assert removed.done()


def test_a_stopped_core_still_answers(recorder: Recorder) -> None:
    recorder.add(FakeEngine(recorder.clock))
    recorder.core.stop()
    recorder.core.turn()
    recorder.core.submit(speech("late"))
    assert recorder.end("late").error_code is ErrorCode.DRAINING
    assert recorder.core.engine_remove("v1").done()


def test_a_slow_prepare_does_not_hold_the_others_up(recorder: Recorder) -> None:
    engine = FakeEngine(recorder.clock, fixed=0.01)
    recorder.add(engine)
    recorder.speak(speech("speaking"), "a" * 50)
    recorder.core.turn()
    engine.prepare_hook = lambda _: recorder.clock.advance(0.015)
    for index in range(6):
        recorder.speak(speech(f"r{index}"), "abc")
    began = recorder.clock.now
    recorder.core.turn()
    assert recorder.clock.now - began <= 0.02 + 0.015 + 0.011
    recorder.run()
    assert len(recorder.ends_by_reason()[FinishReason.COMPLETED]) == 7


def test_stats_tell_what_waits_and_what_runs(recorder: Recorder) -> None:
    recorder.add(
        FakeEngine(recorder.clock, fixed=0.1), batching=BatchingConfig(max_slots=2, max_batch=2)
    )
    for name in "abc":
        recorder.speak(speech(name), "abcdef")
    recorder.core.turn()
    stats = recorder.core.stats()
    assert (stats.waiting, stats.active, stats.free) == (1, 2, 0)
    assert sum(stats.depth.values()) == 1
    assert stats.leases == {"v1": 3}
    assert stats.engines[0].resident == 2
    recorder.run()
    recorder.core.turn()
    assert recorder.core.stats().leases == {"v1": 0}
