"""Thousands of random operations: every request ends once, limits hold, nothing is left."""

import random
from collections.abc import Sequence

import numpy as np
import pytest

from tests.tts.engine.core_harness import Clock, FakeEngine, Recorder, segment, speech
from tts.engine.config import BatchingConfig, CoreConfig
from tts.engine.errors import NothingToSpeak, SynthesisFailed
from tts.engine.event import AudioChunk, SegmentFinished, SpeechFinished, SpeechStarted
from tts.engine.request import Priority
from tts.engines.base import EngineKind, StepResult, Utterance
from tts.text.segment import Segment

LANES = 2
SLOTS = {"s": BatchingConfig(4, 3), "t": BatchingConfig(2, 2), "u": BatchingConfig(8, 4)}


class CheckedEngine(FakeEngine):
    """Fails at random; checks with every step that its limits are kept."""

    def __init__(self, clock: Clock, kind: EngineKind, dice: random.Random, limits: BatchingConfig):
        super().__init__(clock, kind, fixed=0.01, per_row=0.002, rtf=0.2)
        self.dice = dice
        self.limits = limits
        self.resident: set[int] = set()
        self.prepare_hook = self._maybe_refuse

    def step(self, active: Sequence[Utterance]) -> list[StepResult]:
        steps = self.traits.kind is EngineKind.STEP
        self.resident |= {u.utterance_id for u in active}
        assert len(active) == len({u.utterance_id for u in active})
        assert len(self.resident) <= self.limits.max_slots
        assert len(active) <= (self.limits.max_batch if steps else LANES)
        if self.dice.random() < 0.01:
            raise RuntimeError("a bad step")
        results = [self._maybe_fail(result) for result in super().step(active)]
        self.resident -= {r.utterance_id for r in results if r.finished or r.error}
        return results

    def release(self, utterance: Utterance) -> None:
        super().release(utterance)
        self.resident.discard(utterance.utterance_id)

    def _maybe_fail(self, result: StepResult) -> StepResult:
        if self.dice.random() > 0.02:
            return result
        self.made.pop(result.utterance_id, None)
        self.computing.pop(result.utterance_id, None)
        return StepResult(
            result.utterance_id, np.zeros(0, np.float32), error=SynthesisFailed("a bad row")
        )

    def _maybe_refuse(self, segment: Segment) -> None:
        self.clock.advance(0.001)
        if self.dice.random() < 0.02:
            raise self.dice.choice([NothingToSpeak("no"), SynthesisFailed("no"), KeyError("no")])


class Storm:
    """Random commands against a core with two STEP engines and one UTTERANCE engine."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.recorder = Recorder(
            CoreConfig(max_waiting=20, lanes=LANES, stall_seconds=3.0, max_failures=50)
        )
        self.submitted: dict[tuple[str, int], int] = {}
        self.open: list[tuple[str, int]] = []
        self.next_index: dict[tuple[str, int], int] = {}
        for version, limits in SLOTS.items():
            kind = EngineKind.UTTERANCE if version == "u" else EngineKind.STEP
            engine = CheckedEngine(self.recorder.clock, kind, self.dice, limits)
            self.recorder.add(engine, version, batching=limits)

    def submit(self) -> None:
        request_id = f"r{self.dice.randrange(400)}"
        attempt = self.dice.choice([1, 1, 1, 2, 3])
        newest = max((a for r, a in self.submitted if r == request_id), default=0)
        if attempt <= newest:
            return
        self.submitted[request_id, attempt] = 0
        self.open.append((request_id, attempt))
        self.recorder.core.submit(
            speech(
                request_id,
                attempt=attempt,
                tenant_id=self.dice.choice("abc"),
                version=self.dice.choice("stu"),
                priority=self.dice.choice(list(Priority)),
                speed=self.dice.choice([0.5, 1.0, 1.0, 2.0]),
                max_queue_seconds=self.dice.choice([0.5, 10.0]),
                initial_credit_samples=self.dice.choice([0, 2_400, 24_000, 720_000]),
            )
        )

    def append(self) -> None:
        key = self._any()
        if key:
            index = self.next_index.get(key, 0)
            self.next_index[key] = index + 1
            text = "x" * self.dice.randrange(1, 12)
            self.recorder.core.append(*key, segment(index, text))

    def end_input(self) -> None:
        key = self._any()
        if key:
            self.recorder.core.end_input(*key)

    def grant(self) -> None:
        key = self._any()
        if key:
            self.recorder.core.grant(*key, self.dice.choice([1, 24_000]))

    def cancel(self) -> None:
        key = self._any()
        if key:
            self.recorder.core.cancel(*key)

    def turn(self) -> None:
        self.recorder.core.turn()
        self.recorder.clock.advance(self.dice.choice([0.0, 0.0, 0.05]))

    def _any(self) -> tuple[str, int] | None:
        recent = self.open[-30:]
        return self.dice.choice(recent) if recent else None


@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_left_of_thousands_of_random_operations(
    seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("CRITICAL")
    storm = Storm(seed)
    actions = [storm.submit, storm.append, storm.end_input, storm.grant, storm.cancel, storm.turn]
    weights = [2, 6, 2, 3, 1, 8]
    for action in storm.dice.choices(actions, weights, k=4_000):
        action()
    for key in storm.open:
        storm.recorder.core.cancel(*key)
    storm.recorder.core.turn()

    assert storm.recorder.core.is_empty()
    check_events(storm)
    ends = storm.recorder.ends_by_reason()
    assert len(ends) >= 6, f"the storm was too mild: {list(ends)}"


def check_events(storm: Storm) -> None:
    """Each attempt: at most one start, chunks that count on, one end and nothing after it."""
    streams: dict[tuple[str, int], list[object]] = {key: [] for key in storm.submitted}
    for event in storm.recorder.events:
        streams[event.request_id, event.attempt].append(event)
    for key, events in streams.items():
        ends = [e for e in events if isinstance(e, SpeechFinished)]
        assert len(ends) == 1, f"{key} ended {len(ends)} times"
        assert events[-1] is ends[0]
        assert sum(isinstance(e, SpeechStarted) for e in events) <= 1
        chunks = [e for e in events if isinstance(e, AudioChunk)]
        offset = 0
        for sequence, chunk in enumerate(chunks):
            assert (chunk.sequence, chunk.offset) == (sequence, offset)
            offset += chunk.samples
        assert ends[0].samples == offset
        segments = [e.segment_index for e in events if isinstance(e, SegmentFinished)]
        assert segments == sorted(segments)
