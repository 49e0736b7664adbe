"""Simulated load on the test's clock: what continuous batching and the rules are worth."""

import random
from dataclasses import dataclass

import pytest

from tests.tts.engine.core_harness import RATE, FakeEngine, Recorder, speech
from tts.engine.config import BatchingConfig, CoreConfig
from tts.engine.event import AudioChunk, FinishReason, SpeechStarted
from tts.engine.request import Priority
from tts.engines.base import EngineKind


@dataclass(frozen=True, slots=True)
class Arrival:
    """A request of `length` characters (a tenth of a second of audio each) at `at`."""

    at: float
    length: int


def arrivals(seed: int, count: int, rate: float) -> list[Arrival]:
    dice = random.Random(seed)
    now, result = 0.0, []
    for _ in range(count):
        now += dice.expovariate(rate)
        result.append(Arrival(now, dice.randrange(5, 80)))
    return result


def static_first_audio(load: list[Arrival], fixed: float, per_row: float, batch: int) -> float:
    """Mean time to first audio when a batch runs until its longest row has ended."""
    now, waits, queue = 0.0, [], list(load)
    while queue:
        now = max(now, queue[0].at)
        rows = [a for a in queue[:batch] if a.at <= now]
        queue = queue[len(rows) :]
        step = fixed + per_row * len(rows)
        waits += [now + step - a.at for a in rows]
        now += step * max(a.length for a in rows)
    return sum(waits) / len(waits)


class Timeline(Recorder):
    """A recorder that knows when each event came."""

    def __init__(self, config: CoreConfig | None = None) -> None:
        super().__init__(config)
        self.times: dict[str, list[tuple[float, float]]] = {}
        self.first: dict[str, float] = {}

    def _sink(self, events) -> None:  # type: ignore[no-untyped-def]  # as the base
        super()._sink(events)
        for event in events:
            if isinstance(event, AudioChunk):
                self.times.setdefault(event.request_id, []).append(
                    (self.clock.now, event.samples / RATE)
                )
            elif isinstance(event, SpeechStarted):
                self.first[event.request_id] = self.clock.now

    def play(self, load: list[tuple[float, object, tuple[str, ...]]]) -> None:
        """Submit each (at, request, texts) at its time; run to the end."""
        start = self.clock.now
        for at, request, texts in sorted(load, key=lambda item: item[0]):
            while self.clock.now < start + at:
                wake = self.core.turn()
                self.clock.now = max(self.clock.now, min(wake, start + at))
            self.speak(request, *texts)  # type: ignore[arg-type]  # a SpeechRequest
        self.run(seconds=1000.0)

    def underrun(self, request_id: str) -> float:
        """Seconds the listener heard nothing between first and last audio."""
        silence, dry = 0.0, None
        for at, seconds in self.times[request_id]:
            if dry is not None and at > dry:
                silence += at - dry
            dry = max(at, dry or at) + seconds
        return silence


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_continuous_batching_beats_static_batching(seed: int) -> None:
    fixed, per_row, batch = 0.02, 0.001, 8
    load = arrivals(seed, 60, rate=8.0)
    timeline = Timeline(CoreConfig(max_waiting=1000))
    timeline.add(
        FakeEngine(timeline.clock, fixed=fixed, per_row=per_row),
        batching=BatchingConfig(max_slots=batch, max_batch=batch),
    )
    start = timeline.clock.now
    timeline.play(
        [
            (a.at, speech(f"r{i}", max_queue_seconds=1e6), ("x" * a.length,))
            for i, a in enumerate(load)
        ]
    )
    assert len(timeline.ends_by_reason()[FinishReason.COMPLETED]) == len(load)
    mean = sum(timeline.times[f"r{i}"][0][0] - start - a.at for i, a in enumerate(load)) / len(load)
    assert mean < static_first_audio(load, fixed, per_row, batch) / 2


def test_no_listener_runs_dry_when_more_come_than_the_step_carries() -> None:
    # 0.1 s of audio a step; T(n) = 0.02 + 0.02 n: three rows at 1.05 x real time.
    timeline = Timeline(CoreConfig())
    timeline.add(
        FakeEngine(timeline.clock, fixed=0.02, per_row=0.02),
        batching=BatchingConfig(max_slots=8, max_batch=8),
    )
    timeline.play([(i * 0.5, speech(f"w{i}"), ("x" * 10,)) for i in range(8)])
    timeline.play(
        [(i * 1.5, speech(f"r{i}", max_queue_seconds=1e6), ("x" * 100,)) for i in range(10)]
    )
    assert len(timeline.ends_by_reason()[FinishReason.COMPLETED]) == 18
    for index in range(10):
        assert timeline.underrun(f"r{index}") < 0.05, f"r{index} ran dry"


def test_a_step_that_is_mostly_fixed_cost_still_takes_more_rows() -> None:
    # 0.06 of a 0.1 s step whatever the size: one row alone says nothing of a second.
    timeline = Timeline(CoreConfig())
    timeline.add(
        FakeEngine(timeline.clock, fixed=0.06, per_row=0.001),
        batching=BatchingConfig(max_slots=16, max_batch=16),
    )
    start = timeline.clock.now
    timeline.play([(0.0, speech("first"), ("x" * 100,))])
    timeline.play([(0.0, speech(f"r{i}"), ("x" * 100,)) for i in range(10)])
    assert len(timeline.ends_by_reason()[FinishReason.COMPLETED]) == 11
    assert max(step.batch_size for step in timeline.steps) == 10
    for index in range(10):
        assert timeline.underrun(f"r{index}") < 0.05, f"r{index} ran dry"
    assert timeline.clock.now - start < 20.0


def test_offline_rows_pause_for_listeners_and_fill_what_they_leave() -> None:
    timeline = Timeline(CoreConfig())
    engine = FakeEngine(timeline.clock, fixed=0.02, per_row=0.02)
    timeline.add(engine, batching=BatchingConfig(max_slots=8, max_batch=8))
    timeline.play([(i * 0.5, speech(f"w{i}"), ("x" * 10,)) for i in range(8)])
    offline = [
        (0.0, speech(f"o{i}", priority=Priority.OFFLINE, max_queue_seconds=1e6), ("x" * 200,))
        for i in range(8)
    ]
    live = [(1.0 + 0.7 * i, speech(f"r{i}"), ("x" * 40,)) for i in range(3)]
    start = timeline.clock.now
    timeline.play([*offline, *live])
    assert len(timeline.ends_by_reason()[FinishReason.COMPLETED]) == 19
    for i, (at, _, _) in enumerate(live):
        assert timeline.underrun(f"r{i}") < 0.05
        assert timeline.times[f"r{i}"][0][0] - start - at < 0.5
    rows = [step.batch_size for step in timeline.steps]
    assert max(rows) == 6, "offline work may hold three quarters of the slots"


def test_one_long_request_keeps_both_lanes_busy_in_order() -> None:
    timeline = Timeline(CoreConfig(lanes=2))
    timeline.add(FakeEngine(timeline.clock, EngineKind.UTTERANCE, rtf=0.5))
    start = timeline.clock.now
    timeline.speak(speech("r"), *["x" * 20] * 10)
    timeline.run()
    end = timeline.end("r")
    assert end.samples == 20 * RATE
    # Ten segments of one second of computing each, two at a time.
    assert timeline.clock.now - start == pytest.approx(5.0, abs=0.2)


def test_two_versions_share_the_lanes_by_priority() -> None:
    timeline = Timeline(CoreConfig(lanes=2))
    for version in ("v1", "v2"):
        timeline.add(FakeEngine(timeline.clock, EngineKind.UTTERANCE, rtf=0.5), version)
    for index in range(4):
        timeline.speak(speech(f"s{index}", version="v1"), "x" * 10)
    for index in range(4):
        timeline.speak(speech(f"r{index}", version="v2", priority=Priority.REALTIME), "x" * 10)
    timeline.run()
    assert timeline.started_order() == ["r0", "r1", "r2", "r3", "s0", "s1", "s2", "s3"]


def test_a_realtime_request_takes_the_lane_of_offline_work_without_audio() -> None:
    timeline = Timeline(CoreConfig(lanes=2))
    engine = FakeEngine(timeline.clock, EngineKind.UTTERANCE, rtf=1.0)
    timeline.add(engine)
    for index in range(3):
        timeline.speak(
            speech(f"o{index}", priority=Priority.OFFLINE, max_queue_seconds=1e6), "x" * 50
        )
    timeline.core.turn()
    for index in range(4):
        timeline.clock.advance(0.1)
        timeline.speak(speech(f"r{index}", priority=Priority.REALTIME), "x" * 2)
        timeline.core.turn()
        assert timeline.first[f"r{index}"] == timeline.clock.now
        timeline.clock.advance(0.25)
        timeline.core.turn()
    timeline.run()
    assert len(timeline.ends_by_reason()[FinishReason.COMPLETED]) == 7
    assert len(engine.released) <= 2 * 3, "a segment is preempted twice at most"


def test_a_standard_request_waits_for_offline_work() -> None:
    timeline = Timeline(CoreConfig(lanes=1))
    engine = FakeEngine(timeline.clock, EngineKind.UTTERANCE, rtf=1.0)
    timeline.add(engine)
    timeline.speak(speech("o", priority=Priority.OFFLINE), "x" * 10)
    timeline.core.turn()
    timeline.speak(speech("s"), "x" * 10)
    timeline.run()
    assert not engine.released
    assert timeline.started_order() == ["o", "s"]


def test_a_batch_is_held_open_only_while_it_pays() -> None:
    timeline = Timeline(CoreConfig(lanes=1))
    engine = FakeEngine(
        timeline.clock, EngineKind.UTTERANCE, fixed=0.2, per_row=0.002, batches=True
    )
    timeline.add(engine, batching=BatchingConfig(8, 8, max_wait_seconds=0.05))
    timeline.play([(i * 0.01, speech(f"w{i}"), ("x",)) for i in range(120)])
    assert max(len(batch) for batch in engine.batches) == 8
    engine.batches.clear()
    timeline.play([(i * 0.01, speech(f"r{i}"), ("x",)) for i in range(4)])
    assert [len(batch) for batch in engine.batches] == [4]

    engine.batches.clear()
    timeline.play([(i * 5.0, speech(f"rare{i}"), ("x",)) for i in range(12)])
    engine.batches.clear()
    start = timeline.clock.now
    timeline.play([(0.0, speech("alone"), ("x",))])
    assert timeline.first["alone"] == start, "nobody comes: no wait"
