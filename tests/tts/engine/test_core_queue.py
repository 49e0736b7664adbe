"""Waiting: places in the queue, refusals, deadlines."""

import pytest

from tests.tts.engine.core_harness import FakeEngine, Recorder, speech
from tts.engine.config import BatchingConfig, CoreConfig
from tts.engine.errors import ErrorCode
from tts.engine.event import FinishReason, SpeechQueued
from tts.engine.request import Priority
from tts.engines.base import EngineKind

ONE = BatchingConfig(max_slots=1, max_batch=1)


def test_a_full_queue_refuses_at_once_and_says_when_to_come_back() -> None:
    recorder = Recorder(CoreConfig(max_waiting=2))
    recorder.add(FakeEngine(recorder.clock, fixed=0.05), batching=ONE)
    recorder.speak(speech("warm"), "a" * 20)
    recorder.run()
    recorder.speak(speech("first"), "a" * 20)
    recorder.core.turn()
    for name in ("second", "third", "fourth"):
        recorder.speak(speech(name), "a" * 20)
    recorder.core.turn()
    end = recorder.end("fourth")
    assert end.error_code is ErrorCode.QUEUE_FULL
    assert end.retry_after is not None
    assert 0.5 < end.retry_after < 10.0
    recorder.run()
    assert recorder.end("third").reason is FinishReason.COMPLETED


def test_offline_work_cannot_fill_the_queue() -> None:
    recorder = Recorder(CoreConfig(max_waiting=4, offline_slots_share=0.5))
    recorder.add(FakeEngine(recorder.clock, fixed=0.05), batching=ONE)
    recorder.speak(speech("running"), "a" * 20)
    recorder.core.turn()
    for name in ("o1", "o2", "o3"):
        recorder.speak(speech(name, priority=Priority.OFFLINE))
    recorder.speak(speech("live", priority=Priority.REALTIME))
    recorder.core.turn()
    assert recorder.end("o3").error_code is ErrorCode.QUEUE_FULL
    recorder.run()
    assert recorder.end("live").reason is FinishReason.COMPLETED


def test_a_request_that_waits_too_long_is_ended(recorder: Recorder) -> None:
    recorder.add(FakeEngine(recorder.clock, fixed=0.05), batching=ONE)
    recorder.speak(speech("running"), "a" * 100)
    recorder.core.turn()
    recorder.speak(speech("late", max_queue_seconds=1.0))
    began = recorder.clock.now
    while not recorder.ended("late"):
        recorder.core.turn()
    assert recorder.end("late").error_code is ErrorCode.QUEUE_TIMEOUT
    assert recorder.clock.now - began == pytest.approx(1.0, abs=0.11)
    retry_after = recorder.end("late").retry_after
    assert retry_after is not None
    expired = recorder.clock.now
    recorder.run()
    assert recorder.clock.now - expired == pytest.approx(retry_after, rel=0.3)


def test_a_deadline_is_kept_while_a_long_call_runs(recorder: Recorder) -> None:
    recorder.add(FakeEngine(recorder.clock, EngineKind.UTTERANCE, rtf=10.0))
    recorder.speak(speech("long"), "a" * 50, "b" * 50)
    recorder.core.turn()
    recorder.speak(speech("late", max_queue_seconds=2.0))
    wake = recorder.core.turn()
    assert wake == pytest.approx(recorder.clock.now + 2.0)
    recorder.clock.now = wake
    recorder.core.turn()
    assert recorder.end("late").error_code is ErrorCode.QUEUE_TIMEOUT


def test_waiting_counts_from_the_first_text(recorder: Recorder) -> None:
    recorder.add(FakeEngine(recorder.clock, fixed=0.01))
    recorder.core.submit(speech("r", max_queue_seconds=1.0))
    recorder.run(seconds=5.0)
    assert not recorder.ended("r")
    recorder.speak(speech("r"), "abc")
    recorder.run()
    assert recorder.end("r").reason is FinishReason.COMPLETED


def test_a_hopeless_request_is_refused_once_costs_are_known(recorder: Recorder) -> None:
    recorder.add(FakeEngine(recorder.clock, fixed=0.1), batching=ONE)
    for name in ("a", "b", "c"):
        recorder.speak(speech(name), "a" * 50)
    recorder.core.turn()
    recorder.speak(speech("early", max_queue_seconds=0.5))
    recorder.core.turn()
    assert not recorder.ended("early"), "nothing is measured yet: it is taken"
    recorder.run(seconds=2.0)
    recorder.speak(speech("hopeless", max_queue_seconds=2.0))
    recorder.speak(speech("patient", max_queue_seconds=60.0))
    recorder.core.turn()
    end = recorder.end("hopeless")
    assert end.error_code is ErrorCode.DEADLINE_UNATTAINABLE
    assert end.retry_after is not None
    recorder.run(seconds=60.0)
    assert recorder.end("patient").reason is FinishReason.COMPLETED


def test_places_in_the_queue_are_told_when_they_change(recorder: Recorder) -> None:
    recorder.add(FakeEngine(recorder.clock, fixed=0.05), batching=ONE)
    for name in "abcd":
        recorder.speak(speech(name), "a" * 12)
    recorder.run()
    places = {
        name: [e.position for e in recorder.of(name) if isinstance(e, SpeechQueued)]
        for name in "abcd"
    }
    assert places == {"a": [], "b": [0], "c": [1, 0], "d": [2, 1, 0]}


def test_places_are_told_at_most_twice_a_second(recorder: Recorder) -> None:
    recorder.add(FakeEngine(recorder.clock, fixed=0.01), batching=ONE)
    for index in range(30):
        recorder.speak(speech(f"r{index}"), "a")
    recorder.run()
    told = [e for e in recorder.of("r29") if isinstance(e, SpeechQueued)]
    assert len(told) <= 2


def test_a_realtime_request_goes_before_those_that_wait(recorder: Recorder) -> None:
    recorder.add(FakeEngine(recorder.clock, fixed=0.02), batching=ONE)
    recorder.speak(speech("running"), "a" * 5)
    recorder.core.turn()
    recorder.speak(speech("offline", priority=Priority.OFFLINE))
    recorder.speak(speech("standard"))
    recorder.speak(speech("realtime", priority=Priority.REALTIME))
    recorder.run()
    assert recorder.started_order() == ["running", "realtime", "standard", "offline"]
