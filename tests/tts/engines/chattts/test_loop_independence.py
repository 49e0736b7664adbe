"""A seeded row says bit for bit what it says alone, whatever happens around it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from tests.tts.engines.chattts.looping import Spoken, loop_make, run, spoken
from tests.tts.engines.chattts.native_reference import native_backend
from tests.tts.engines.chattts.random_gpt import TINY, weights_random
from tts.engines.chattts.backend import CacheShape, GptBackend, Precision
from tts.engines.chattts.generation import Generation, Kind, Prompt, RowStep
from tts.engines.chattts.loop import LoopSettings
from tts.engines.chattts.random_stream import StreamKey
from tts.engines.chattts.sampler import Sampling
from tts.engines.chattts.torch_backend import TorchBackend

CACHE = CacheShape(slots=5, positions=112)
RETRIES = 2


def generations() -> list[Generation]:
    """Long and short prompts, both kinds, all ends, every parameter."""
    random = np.random.default_rng(11)
    speaker = random.standard_normal(TINY.hidden).astype(np.float32)
    sample = random.integers(0, TINY.audio_tokens - 1, (TINY.codebooks, 30)).astype(np.uint16)
    warm, wild = Sampling(0.7, 0.9, 30, 1.3), Sampling(2.0, 1.0, None, 0.8)
    short, long = (7, 8, 9), tuple(range(45))
    return [
        Generation(Prompt(short), StreamKey(1), 25),
        Generation(Prompt(short), StreamKey(1, 1), 25, warm, min_tokens=20),
        Generation(Prompt(short), StreamKey(2), 30, wild, least_tokens=12),
        Generation(Prompt(short), StreamKey(3), 3, wild, least_tokens=3),
        Generation(Prompt(short), StreamKey(4), 60, wild, least_tokens=60),
        Generation(Prompt(short, 1, speaker), StreamKey(1), 18, warm),
        Generation(Prompt(short, sample=sample), StreamKey(1), 18, warm),
        Generation(Prompt(long * 2), StreamKey(5), 12, wild, min_tokens=5),
        Generation(Prompt(long), StreamKey(2**63, 7, 40), 40, wild),
        Generation(Prompt(short), StreamKey(6), 25, warm, kind=Kind.TEXT),
        Generation(Prompt(long), StreamKey(6), 25, wild, 8, 8, Kind.TEXT),
    ]


GENERATIONS = generations()


def native(precision: Precision) -> GptBackend:
    return native_backend(precision, cache=CACHE, threads=2)


def torch_stable() -> GptBackend:
    return TorchBackend(weights_random(), TINY, CACHE, max_rows=32)


BACKENDS: dict[str, Callable[[], GptBackend]] = {
    **{f"native-{each}": partial(native, each) for each in Precision},
    "torch-fp32": torch_stable,
}


@dataclass(frozen=True, slots=True)
class Case:
    """A backend, whose cache every example leaves as it is, and what each row says alone."""

    backend: GptBackend
    alone: list[Spoken]


@pytest.fixture(scope="module", params=BACKENDS)
def case(request: pytest.FixtureRequest) -> Iterator[Case]:
    backend = BACKENDS[request.param]()
    alone = []
    for generation in GENERATIONS:
        loop = loop_make(backend, LoopSettings(max_retries=RETRIES))
        row = loop.join(generation)
        alone.append(spoken(run(loop, [row])[row]))
    yield Case(backend, alone)
    backend.close()


@dataclass
class Listener:
    """A row that somebody hears, and what it said so far."""

    index: int
    steps: list[RowStep] = field(default_factory=list)


class Loop(RuleBasedStateMachine):
    """Rows join, are advanced in any company, and leave; the rest is spoken to its end."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        self.case = case
        self.listeners: dict[int, Listener] = {}

    @initialize(prefill_rows=st.integers(1, 40))
    def begin(self, prefill_rows: int) -> None:
        self.loop = loop_make(self.case.backend, LoopSettings(prefill_rows, RETRIES))

    @rule(index=st.integers(0, len(GENERATIONS) - 1))
    def join(self, index: int) -> None:
        self.listeners[self.loop.join(GENERATIONS[index])] = Listener(index)

    @rule(paused=st.sets(st.integers(0, 7), max_size=3), count=st.integers(1, 12))
    def advance(self, paused: set[int], count: int) -> None:
        for _ in range(count):
            rows = list(self.listeners)
            self.hear(row for place, row in enumerate(rows) if place not in paused)

    @rule(place=st.integers(0, 7))
    def cancel(self, place: int) -> None:
        rows = list(self.listeners)
        if place < len(rows):
            self.loop.release(rows[place])
            del self.listeners[rows[place]]

    @invariant()
    def nothing_is_lost(self) -> None:
        if hasattr(self, "loop"):
            assert self.loop.rows == len(self.listeners)
            assert 0 <= self.loop.free_slots <= CACHE.slots

    def teardown(self) -> None:
        for _ in range(3_000):
            if not self.listeners:
                break
            self.hear(self.listeners)
        assert not self.listeners
        assert not hasattr(self, "loop") or self.loop.free_slots == CACHE.slots

    def hear(self, rows: "Iterator[int] | dict[int, Listener]") -> None:
        for step in self.loop.step(list(rows)):
            listener = self.listeners[step.row]
            listener.steps.append(step)
            if step.ended:
                del self.listeners[step.row]
                assert spoken(listener.steps) == self.case.alone[listener.index]


def test_a_row_says_what_it_says_alone(case: Case) -> None:
    run_state_machine_as_test(
        lambda: Loop(case),  # type: ignore[arg-type]  # any maker will do
        settings=settings(
            max_examples=25,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_the_rows_end_in_every_way(case: Case) -> None:
    """What is compared above is no handful of equal cases."""
    assert {said.end for said in case.alone} >= {"eos", "length", "SpokenShort"}
    assert len({said.codes for said in case.alone}) == len(GENERATIONS)
