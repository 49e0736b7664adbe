"""What engines raise is logged with its stack and without its message."""

import threading
from collections.abc import Sequence

import pytest

from tests.tts.engine.core_harness import FakeEngine, Recorder, speech
from tts.engine.traces import trace_of
from tts.engines.base import Utterance
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
