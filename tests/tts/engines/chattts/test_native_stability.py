"""A row is the same bits in any slot, at any place, beside any others, on any threads."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tts.engines.chattts.native_reference import (
    TINY,
    inputs_random,
    native_backend,
    sequence_run,
)
from tts.engines.chattts.backend import CacheShape, Floats, Precision
from tts.engines.chattts.native.backend import NativeBackend

SLOTS, LENGTH, SEQUENCES = 8, 24, 8
CACHE = CacheShape(SLOTS, 32)


@dataclass(frozen=True, slots=True)
class Schedule:
    """Who computes how many tokens in which step: per step (sequence, tokens), shuffled."""

    seed: int
    threads: int
    sizes: tuple[int, ...]
    slots: tuple[int, ...]


schedules = st.builds(
    Schedule,
    seed=st.integers(0, 2**32 - 1),
    threads=st.integers(1, 3),
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=6).map(tuple),
    slots=st.permutations(range(SLOTS)).map(tuple),
)


@pytest.fixture(scope="module")
def sequences() -> list[Floats]:
    return [inputs_random(TINY, LENGTH, seed) for seed in range(SEQUENCES)]


@pytest.fixture(scope="module", params=list(Precision))
def alone(
    request: pytest.FixtureRequest, sequences: list[Floats]
) -> tuple[Precision, list[Floats]]:
    """What each sequence is when nobody else is there, token by token."""
    precision: Precision = request.param
    backend = native_backend(precision, cache=CACHE)
    return precision, [sequence_run(backend, x, 0, [1] * LENGTH)[0] for x in sequences]


@pytest.fixture(scope="module")
def backends(alone: tuple[Precision, list[Floats]]) -> dict[int, NativeBackend]:
    """One for each number of threads; slots are used again and again."""
    return {n: native_backend(alone[0], cache=CACHE, threads=n) for n in (1, 2, 3)}


@settings(max_examples=40, deadline=None)
@given(schedule=schedules)
def test_a_row_does_not_depend_on_its_batch(
    alone: tuple[Precision, list[Floats]],
    backends: dict[int, NativeBackend],
    sequences: list[Floats],
    schedule: Schedule,
) -> None:
    random = np.random.default_rng(schedule.seed)
    backend = backends[schedule.threads]
    done = [0] * SEQUENCES
    step = 0
    while min(done) < LENGTH:
        # Some join, some leave out a step, each with as many tokens as the schedule says.
        rows = []
        for sequence in random.permutation(SEQUENCES)[: random.integers(1, SEQUENCES + 1)]:
            size = schedule.sizes[(step + sequence) % len(schedule.sizes)]
            end = min(done[sequence] + size, LENGTH)
            rows += [(sequence, position) for position in range(done[sequence], end)]
            done[sequence] = end
        step += 1
        if not rows:
            continue
        random.shuffle(rows)
        inputs = np.stack([sequences[s][p] for s, p in rows])
        slots = np.array([schedule.slots[s] for s, _ in rows], np.int32)
        positions = np.array([p for _, p in rows], np.int32)
        hidden, _ = backend.forward(inputs, slots, positions, 0)
        expected = np.stack([alone[1][s][p] for s, p in rows])
        assert np.array_equal(hidden, expected)
