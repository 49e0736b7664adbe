"""Rows that wait for something else than a step: they cost nothing until the engine is notified."""

from collections.abc import Sequence
from math import inf

from tests.tts.engine.core_harness import FakeEngine, Recorder, speech
from tts.engine.event import FinishReason
from tts.engines.base import StepResult, Utterance


class HearingEngine(FakeEngine):
    """Leaves rows whose text is "later" out of its steps until it has `heard`."""

    heard = False

    def step(self, active: Sequence[Utterance]) -> list[StepResult]:
        ready = [u for u in active if self.heard or u.expected_seconds != 0.5]
        return super().step(ready) if ready else []


def test_a_row_that_waits_makes_no_turn_and_no_step(recorder: Recorder) -> None:
    engine = HearingEngine(recorder.clock, fixed=0.01)
    recorder.add(engine)
    recorder.speak(speech("r"), "later")
    recorder.core.turn()
    assert recorder.core.turn() == inf
    assert recorder.steps == []
    engine.heard = True
    recorder.run()
    assert recorder.end("r").reason is FinishReason.COMPLETED
    assert [stats.batch_size for stats in recorder.steps] == [1] * 5


def test_steps_count_the_rows_that_they_computed(recorder: Recorder) -> None:
    recorder.add(HearingEngine(recorder.clock, fixed=0.01, per_row=0.01))
    recorder.speak(speech("waits"), "later")
    recorder.speak(speech("speaks"), "a" * 12)
    recorder.core.turn()
    while not recorder.ended("speaks"):
        recorder.core.turn()
    assert {stats.batch_size for stats in recorder.steps} == {1}
    assert not recorder.ended("waits")
    # What two rows cost is not known: the first of them would have been taken for two.
    cost = recorder.core._loop._scheduler._engines["v1", speech("x").profile].cost
    assert cost.only_size == 1
