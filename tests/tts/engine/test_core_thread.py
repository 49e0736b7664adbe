"""The core on its own thread, with real time and the real engines of tone."""

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence

import pytest

from tests.tts.engine.core_harness import PlainPcm, segment, speech
from tts.engine.config import BatchingConfig, CoreConfig
from tts.engine.core import EngineCore
from tts.engine.errors import ErrorCode
from tts.engine.event import AudioChunk, EngineEvent, FinishReason, SpeechFinished, SpeechStarted
from tts.engine.observer import NullObserver
from tts.engine.request import Profile
from tts.engines.base import Device, SpeechEngine, StepResult
from tts.engines.registry import engine_create

LIMIT = 20.0


class ConfigShards:
    """Shards of a tone version."""

    def __init__(self, config: dict[str, object]) -> None:
        self._config = config

    def read(self, name: str) -> bytes:
        assert name == "config"
        return json.dumps(self._config).encode()

    def resident(
        self, names: str | tuple[str, ...], transform: str, build: Callable[[], object]
    ) -> object:
        return build()


class Worker:
    """A started core and what it said."""

    def __init__(self) -> None:
        self.events: list[EngineEvent] = []
        self._changed = threading.Condition()
        self.core = EngineCore(
            CoreConfig(), self._sink, NullObserver(), postprocessor_factory=PlainPcm
        )
        self.core.start()

    def _sink(self, events: Sequence[EngineEvent]) -> None:
        with self._changed:
            self.events.extend(events)
            self._changed.notify_all()

    def add(self, version: str, **config: object) -> SpeechEngine:
        engine = engine_create("tone")
        shards = ConfigShards(config)
        engine.load(shards, Device(), Profile.STANDARD, self.core.notify)  # type: ignore[arg-type]  # builds only
        self.core.engine_add(version, Profile.STANDARD, engine, BatchingConfig()).result(LIMIT)
        return engine

    def speak(self, request_id: str, version: str, *texts: str) -> None:
        self.core.submit(speech(request_id, version=version))
        for index, text in enumerate(texts):
            self.core.append(request_id, 1, segment(index, text))
        self.core.end_input(request_id, 1)

    def wait(self, done: Callable[[list[EngineEvent]], bool]) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: done(self.events), LIMIT)

    def ends(self) -> dict[str, SpeechFinished]:
        return {e.request_id: e for e in self.events if isinstance(e, SpeechFinished)}

    def wait_for(self, *request_ids: str) -> dict[str, SpeechFinished]:
        self.wait(lambda events: set(request_ids) <= set(self.ends()))
        return self.ends()


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker()
    yield worker
    assert worker.core.stop()


def test_many_callers_are_served_by_two_kinds_of_engines(worker: Worker) -> None:
    worker.add("step", mode="step", cost_ms=0.2)
    worker.add("calls", mode="utterance", audio_cost_ms=2.0)
    names = [f"r{index}" for index in range(12)]

    def call(index: int) -> None:
        version = "step" if index % 2 else "calls"
        worker.speak(names[index], version, *["a short sentence"] * 4)

    threads = [threading.Thread(target=call, args=(index,)) for index in range(len(names))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ends = worker.wait_for(*names)
    assert {end.reason for end in ends.values()} == {FinishReason.COMPLETED}
    assert {end.segments for end in ends.values()} == {4}
    assert len({end.samples for end in ends.values()}) == 1


def test_a_cancelled_call_stops_computing(worker: Worker) -> None:
    worker.add("calls", mode="utterance", audio_cost_ms=200.0, piece_seconds=0.1)
    worker.speak("r", "calls", "word " * 100)
    worker.wait(lambda events: any(isinstance(e, SpeechStarted) for e in events))
    began = time.monotonic()
    worker.core.cancel("r", 1)
    assert worker.wait_for("r")["r"].reason is FinishReason.CANCELLED
    assert time.monotonic() - began < 1.0
    removed = worker.core.engine_remove("calls")
    removed.result(LIMIT)
    assert time.monotonic() - began < 3.0


def test_an_engine_that_is_slow_to_close_keeps_no_other_stream(worker: Worker) -> None:
    slow = worker.add("slow", mode="step")
    worker.add("step", mode="step")
    spoken, closed = threading.Event(), slow.close

    def close() -> None:
        assert spoken.wait(LIMIT)
        closed()

    slow.close = close  # type: ignore[method-assign]  # to hold it
    removed = worker.core.engine_remove("slow")
    worker.speak("r", "step", "hello")
    assert worker.wait_for("r")["r"].reason is FinishReason.COMPLETED
    assert not removed.done()
    spoken.set()
    removed.result(LIMIT)


def test_an_idle_core_does_not_run(worker: Worker) -> None:
    worker.add("step", mode="step")
    worker.speak("r", "step", "hello")
    worker.wait_for("r")
    turns = 0
    turn = worker.core.turn

    def counted() -> float:
        nonlocal turns
        turns += 1
        return turn()

    worker.core.turn = counted  # type: ignore[method-assign]  # to count them
    quiet = threading.Event()
    assert not quiet.wait(0.2)
    assert turns <= 1
    worker.core.notify()
    deadline = time.monotonic() + LIMIT
    while not turns and time.monotonic() < deadline:
        quiet.wait(0.01)
    assert turns >= 1


def test_stop_ends_what_is_open(worker: Worker) -> None:
    worker.add("step", mode="step", cost_ms=5.0)
    worker.speak("r", "step", "word " * 1000)
    worker.wait(lambda events: any(isinstance(e, AudioChunk) for e in events))
    assert worker.core.stop(0.1)
    assert worker.ends()["r"].error_code is ErrorCode.DRAINING
    worker.speak("late", "step", "hello")
    assert worker.ends()["late"].error_code is ErrorCode.DRAINING


def test_a_defect_of_the_core_leaves_no_request_without_an_end(
    worker: Worker, caplog: pytest.LogCaptureFixture
) -> None:
    engine = worker.add("step", mode="step", cost_ms=1.0)
    worker.speak("r", "step", "word " * 1000)
    worker.wait(lambda events: bool(events))
    engine.step = lambda active: [  # type: ignore[method-assign]  # to break the contract
        StepResult(active[0].utterance_id, None)  # type: ignore[arg-type]  # no audio at all
    ]
    assert worker.wait_for("r")["r"].error_code is ErrorCode.SYNTHESIS_FAILED
    assert "the engine core failed" in caplog.text
    assert worker.core.is_empty()
