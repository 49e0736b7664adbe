"""An engine takes no more utterances than it can hold, whatever its settings allow."""

from dataclasses import replace

from tests.tts.engine.core_harness import FakeEngine, Recorder, speech
from tts.engine.config import BatchingConfig
from tts.engine.event import FinishReason
from tts.engine.request import Priority
from tts.engines.base import EngineKind


def small(recorder: Recorder, most: int, kind: EngineKind = EngineKind.STEP) -> FakeEngine:
    engine = FakeEngine(recorder.clock, kind, fixed=0.01)
    engine.traits = replace(engine.traits, max_utterances=most)
    recorder.add(engine, batching=BatchingConfig(max_slots=16, max_batch=16))
    return engine


def test_no_more_run_at_once_than_the_engine_holds(recorder: Recorder) -> None:
    engine = small(recorder, 2)
    for name in "abcd":
        recorder.speak(speech(name))
    recorder.run()
    assert max(len(batch) for batch in engine.batches) == 2
    assert len(recorder.ends_by_reason()[FinishReason.COMPLETED]) == 4


def test_slots_and_free_places_are_the_engines_own(recorder: Recorder) -> None:
    small(recorder, 3)
    recorder.speak(speech("a"))
    recorder.clock.advance(1.0)
    recorder.core.turn()
    stats = recorder.core.stats()
    assert (stats.engines[0].slots, stats.free) == (3, 2)


def test_new_settings_stay_within_the_engine(recorder: Recorder) -> None:
    engine = small(recorder, 2)
    for most, expected in ((1, 1), (64, 2)):
        settings = BatchingConfig(max_slots=most, max_batch=most)
        recorder.core.batching_set("v1", settings)
        for name in "abcd":
            recorder.speak(speech(f"{name}{most}"))
        engine.batches.clear()
        recorder.run()
        assert max(len(batch) for batch in engine.batches) == expected


def test_offline_work_leaves_a_slot_of_a_small_engine(recorder: Recorder) -> None:
    engine = small(recorder, 4)
    for index in range(8):
        recorder.speak(speech(f"o{index}", priority=Priority.OFFLINE), "a" * 50)
    for _ in range(5):
        recorder.core.turn()
    recorder.speak(speech("live", priority=Priority.REALTIME))
    recorder.core.turn()
    assert len(engine.batches[-1]) == 4
    assert "live" in recorder.started_order()
    recorder.run()
