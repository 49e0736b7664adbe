"""What engines raise is logged with its stack and without its message."""

import threading
from collections.abc import Sequence

import pytest

from tests.tts.engine.core_harness import VOICE, Clock, FakeEngine, Recorder, segment, speech
from tts.engine.config import CoreConfig
from tts.engine.core import EngineCore
from tts.engine.event import EngineEvent
from tts.engine.host import EngineHost
from tts.engine.request import Profile
from tts.engine.traces import trace_of
from tts.engines.base import SynthesisParams, Utterance
from tts.engines.pool import CancelToken, Emit, UtterancePool

SECRET = "what the tenant said"


def fail() -> None:
    try:
        raise KeyError(SECRET)
    except KeyError as error:
        raise RuntimeError(SECRET) from error


def test_a_trace_has_types_and_places_of_the_whole_chain() -> None:
    with pytest.raises(RuntimeError) as raised:
        fail()
    trace = trace_of(raised.value)
    assert trace.splitlines()[0] == "builtins.RuntimeError"
    assert "builtins.KeyError" in trace
    assert "in fail" in trace
    assert SECRET not in trace


def test_an_exception_without_a_stack_has_its_type() -> None:
    assert trace_of(ValueError(SECRET)) == "builtins.ValueError"


def test_a_failed_step_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    recorder = Recorder()
    engine = FakeEngine(recorder.clock, fixed=0.01)

    def broken(active: Sequence[Utterance]) -> None:
        fail()

    engine.step_hook = broken
    recorder.add(engine)
    recorder.speak(speech("a"))
    recorder.run()
    assert "builtins.RuntimeError" in caplog.text
    assert "in fail" in caplog.text
    assert SECRET not in caplog.text


@pytest.mark.parametrize("name", ["release", "close"])
def test_a_failed_end_is_logged(caplog: pytest.LogCaptureFixture, name: str) -> None:
    engine = FakeEngine(Clock())
    setattr(engine, name, lambda *args: fail())
    host = EngineHost(("v1", Profile.STANDARD), engine)
    host.prepare(1, segment(0), VOICE, SynthesisParams(Profile.STANDARD))
    host.release(1)
    host.close()
    assert f"failed to {name}" in caplog.text
    assert "in fail" in caplog.text
    assert SECRET not in caplog.text


def test_a_failed_sink_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    ended = threading.Event()

    def sink(events: Sequence[EngineEvent]) -> None:
        ended.set()
        fail()

    core = EngineCore(CoreConfig(), sink, Recorder())
    core.start()
    core.submit(speech("a"))
    assert ended.wait(10.0)
    assert core.stop(0.1)
    assert "the sink failed; 1 events are lost" in caplog.text
    assert "in fail" in caplog.text
    assert SECRET not in caplog.text


def test_a_failed_utterance_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    arrived = threading.Event()
    pool = UtterancePool(1, arrived.set)

    def run(emit: Emit, token: CancelToken) -> None:
        fail()

    pool.submit(1, run)
    assert arrived.wait(10.0)
    pool.close()
    assert "in fail" in caplog.text
    assert SECRET not in caplog.text
