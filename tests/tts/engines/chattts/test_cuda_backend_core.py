"""What the CUDA backend computes, run on the CPU without graphs: the same code, eagerly."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tts.engines.chattts.closeness import relative_error
from tests.tts.engines.chattts.random_gpt import TINY, inputs_random, weights_random
from tests.tts.engines.chattts.row_independence import (
    LENGTH,
    POSITIONS,
    SEQUENCES,
    SLOTS,
    independence_check,
    sequence_compute,
    transformers_check,
)
from tts.engine.errors import VersionUnavailable
from tts.engines.chattts import backends, cuda_backend
from tts.engines.chattts.backend import CacheShape, Floats, Precision
from tts.engines.chattts.cuda_backend import CudaBackend
from tts.engines.chattts.device_memory import DeviceMemoryExhausted
from tts.engines.chattts.torch_backend import TorchBackend


def backend_make(
    precision: Precision = Precision.FP32, buckets: tuple[int, ...] = (16,), *, stable: bool = True
) -> CudaBackend:
    return CudaBackend(
        weights_random(),
        TINY,
        CacheShape(SLOTS, POSITIONS),
        device=torch.device("cpu"),
        precision=precision,
        buckets=buckets,
        stable=stable,
    )


@pytest.fixture(scope="module")
def backend() -> Iterator[CudaBackend]:
    torch.set_num_threads(1)
    backend = backend_make()
    yield backend
    backend.close()


def test_hidden_states_and_logits_are_those_of_transformers(backend: CudaBackend) -> None:
    transformers_check(backend)


@pytest.mark.parametrize(
    ("precision", "error"), [(Precision.BF16, 0.03), (Precision.INT8, 0.06)], ids=str
)
def test_lower_precision_stays_close(precision: Precision, error: float) -> None:
    hidden, _ = sequence_compute(backend_make(precision), SEQUENCES[0], 0, [LENGTH])
    exact, _ = sequence_compute(backend_make(), SEQUENCES[0], 0, [LENGTH])
    assert 1e-4 < relative_error(hidden, exact) < error


def test_it_computes_what_the_torch_backend_computes(backend: CudaBackend) -> None:
    other = TorchBackend(weights_random(), TINY, CacheShape(SLOTS, POSITIONS))
    expected, _ = sequence_compute(other, SEQUENCES[1], 0, [LENGTH])
    found, _ = sequence_compute(backend, SEQUENCES[1], 5, [3, 17])
    np.testing.assert_allclose(found, expected, atol=1e-5, rtol=0)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_row_is_the_same_whatever_runs_beside_it(backend: CudaBackend, seed: int) -> None:
    independence_check(backend, seed)


def test_more_rows_than_a_step_has_are_computed_in_order(backend: CudaBackend) -> None:
    rows = backend.max_rows
    assert rows > max(backend.buckets)
    order = np.random.default_rng(3).permutation(rows).astype(np.int32)
    slots, positions = order % 2, order // 2
    inputs = np.stack(SEQUENCES)[slots, positions]
    hidden, logits = backend.forward(inputs, slots, positions, 5)
    for slot in range(2):
        mine = slots == slot
        alone, scores = sequence_compute(backend, SEQUENCES[slot], 4, [1] * int(mine.sum()))
        np.testing.assert_array_equal(hidden[mine], alone[positions[mine]])
        for place in range(5):
            if slots[place] == slot:
                np.testing.assert_array_equal(logits[place], scores[positions[place]])
    assert logits.shape == (5, TINY.codebooks * TINY.audio_tokens)


def test_buckets_that_round_otherwise_are_dropped() -> None:
    backend = backend_make(buckets=(1, 16))
    assert max(backend.buckets) == 16
    for seed in range(3):
        independence_check(backend, seed)
    assert backend_make(buckets=(1, 16), stable=False).buckets == (16, 1)


def unstable_from(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    """Have batches of so many rows and more compute each row by its place, too."""
    tried = CudaBackend._tried

    def wrong(backend: CudaBackend, *arguments: Any) -> tuple[Floats, Floats]:
        hidden, logits = tried(backend, *arguments)
        if len(hidden) >= rows:
            hidden += np.arange(len(hidden), dtype=np.float32)[:, None]
        return hidden, logits

    monkeypatch.setattr(CudaBackend, "_tried", wrong)


def test_a_widest_bucket_that_rounds_by_place_is_not_used(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    unstable_from(monkeypatch, 9)
    backend = backend_make(buckets=(4, 8, 16))
    assert backend.buckets[0] == 8
    assert "rows depend on their place among 16" in caplog.text
    for seed in range(3):
        independence_check(backend, seed)
    assert backend_make(buckets=(4, 8, 16), stable=False).buckets == (16, 8, 4)


def test_a_device_that_rounds_by_place_whatever_the_bucket_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    unstable_from(monkeypatch, 2)
    with pytest.raises(VersionUnavailable, match="audio of a seed would differ"):
        backend_make(buckets=(8, 16))


def test_a_slot_used_again_knows_nothing_of_its_past(backend: CudaBackend) -> None:
    fresh, _ = sequence_compute(backend_make(), SEQUENCES[0], 3, [5, 15])
    sequence_compute(backend, np.full_like(SEQUENCES[1], np.nan), 3, [LENGTH])
    again, _ = sequence_compute(backend, SEQUENCES[0], 3, [5, 15])
    np.testing.assert_array_equal(again, fresh)


def test_a_row_that_is_not_a_number_spoils_no_other(backend: CudaBackend) -> None:
    inputs = np.stack([SEQUENCES[0][0], np.full(TINY.hidden, np.nan, np.float32)])
    zeros = np.zeros(2, np.int32)
    hidden, _ = backend.forward(inputs, np.array([0, 1], np.int32), zeros, 0)
    first = hidden[0].copy()
    alone, _ = backend.forward(inputs[:1], zeros[:1], zeros[:1], 0)
    np.testing.assert_array_equal(first, alone[0])


def test_the_cache_is_counted(backend: CudaBackend) -> None:
    places = SLOTS * POSITIONS + 1  # one more for rows that fill a batch up
    assert backend.cache_bytes == 4 * TINY.cache_values * places
    assert backend_make(Precision.BF16).cache_bytes == backend.cache_bytes // 2


def test_a_closed_backend_says_so() -> None:
    backend = backend_make()
    backend.close()
    backend.close()
    zeros = np.zeros(1, np.int32)
    with pytest.raises(ValueError, match="closed"):
        backend.forward(inputs_random(TINY, 1), zeros, zeros, 0)


def test_rows_out_of_range_are_refused(backend: CudaBackend) -> None:
    rows = np.zeros(1, np.int32)
    with pytest.raises(ValueError, match="slots must be"):
        backend.forward(inputs_random(TINY, 1), rows + SLOTS, rows, 0)


def test_a_slot_longer_than_the_model_is_refused() -> None:
    with pytest.raises(ValueError, match="positions"):
        CudaBackend(weights_random(), TINY, CacheShape(1, 129), device=torch.device("cpu"))


def test_a_device_gets_as_many_slots_as_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    slot = 4 * TINY.cache_values * POSITIONS
    monkeypatch.setattr(backends, "memory_free", lambda device: 2 * slot * (SLOTS - 1))
    wanted = CacheShape(SLOTS, POSITIONS)
    cpu = torch.device("cpu")
    backend = backends._cuda(weights_random(), TINY, wanted, Precision.FP32, cpu)
    assert isinstance(backend, CudaBackend)
    assert backend.cache.slots == SLOTS - 1
    assert backend.buckets[0] == 64


def test_a_device_without_memory_is_a_version_that_is_not_available(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(backends, "memory_free", lambda device: 10**12)
    monkeypatch.setattr(cuda_backend, "Llama", _exhausted)
    wanted = CacheShape(SLOTS, POSITIONS)
    with pytest.raises(VersionUnavailable, match="no memory left"):
        backends._cuda(weights_random(), TINY, wanted, Precision.FP32, torch.device("cpu"))


def test_a_step_that_runs_out_of_memory_leaves_the_backend_usable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    backend = backend_make()
    expected, _ = sequence_compute(backend, SEQUENCES[0], 0, [LENGTH - 1, 1])
    sequence_compute(backend, SEQUENCES[0], 1, [LENGTH - 1])
    with monkeypatch.context() as patched:
        patched.setattr(backend, "_queue", _exhausted)
        with pytest.raises(DeviceMemoryExhausted, match="a step"):
            sequence_compute(backend, SEQUENCES[1], 2, [LENGTH])
    last = np.array([LENGTH - 1], np.int32)
    found, _ = backend.forward(SEQUENCES[0][-1:], np.array([1], np.int32), last, 1)
    np.testing.assert_array_equal(found, expected[-1:])


def _exhausted(*arguments: object) -> None:
    raise torch.OutOfMemoryError("CUDA out of memory")
