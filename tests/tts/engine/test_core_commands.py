"""A command that fails ends what it is about, and those behind it are carried out."""

import pytest

from tests.tts.engine.core_harness import FakeEngine, Recorder, segment, speech
from tts.engine.config import BatchingConfig
from tts.engine.errors import ErrorCode
from tts.engine.event import FinishReason
from tts.engine.loop import CoreLoop
from tts.engine.request import Profile
from tts.engine.scheduler import Scheduler
from tts.text.segment import Segment

SECRET = "what the tenant said"


@pytest.fixture
def broken_append(monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments of the request "bad" break the loop's own code."""
    append = CoreLoop.append

    def fail(loop: CoreLoop, request_id: str, attempt: int, part: Segment) -> None:
        if request_id == "bad":
            raise KeyError(SECRET)
        append(loop, request_id, attempt, part)

    monkeypatch.setattr(CoreLoop, "append", fail)


@pytest.mark.usefixtures("broken_append")
def test_those_behind_it_are_carried_out(
    recorder: Recorder, caplog: pytest.LogCaptureFixture
) -> None:
    recorder.add(FakeEngine(recorder.clock, fixed=0.01))
    recorder.speak(speech("before"))
    recorder.speak(speech("bad"))
    recorder.speak(speech("behind"))
    recorder.run()
    assert recorder.end("bad").error_code is ErrorCode.SYNTHESIS_FAILED
    assert recorder.end("before").reason is FinishReason.COMPLETED
    assert recorder.end("behind").reason is FinishReason.COMPLETED
    assert "builtins.KeyError" in caplog.text
    assert SECRET not in caplog.text + recorder.end("bad").message
    assert recorder.core.is_empty()


@pytest.mark.parametrize("method", ["submit", "headroom_set"])
def test_a_submission_that_breaks_off_is_answered(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    def fail(scheduler: Scheduler, *arguments: object) -> None:
        raise KeyError(SECRET)

    recorder.add(FakeEngine(recorder.clock, fixed=0.01))
    with monkeypatch.context() as patch:
        patch.setattr(Scheduler, method, fail)
        recorder.core.submit(speech("bad"))
        recorder.core.turn()
    recorder.speak(speech("next"))
    recorder.run()
    assert recorder.end("bad").error_code is ErrorCode.SYNTHESIS_FAILED
    assert recorder.end("next").reason is FinishReason.COMPLETED
    assert recorder.core.is_empty()


def test_the_future_of_a_broken_command_fails(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CoreLoop, "engine_add", lambda *arguments: 1 / 0)
    engine = FakeEngine(recorder.clock)
    added = recorder.core.engine_add("v1", Profile.STANDARD, engine, BatchingConfig())
    recorder.core.turn()
    assert "ZeroDivisionError" in str(added.exception(0))


@pytest.mark.usefixtures("broken_append")
def test_a_command_that_fails_while_the_core_ends_is_answered(recorder: Recorder) -> None:
    recorder.add(FakeEngine(recorder.clock, fixed=0.01))
    recorder.core.drain(0.0)
    recorder.core.turn()
    recorder.core.append("bad", 1, segment(0))
    recorder.core.submit(speech("late"))
    assert recorder.end("late").error_code is ErrorCode.DRAINING
