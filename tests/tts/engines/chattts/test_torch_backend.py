"""The torch backend computes what transformers' LLaMA computes, each row for itself."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tts.engines.chattts.closeness import relative_error
from tests.tts.engines.chattts.random_gpt import TINY, weights_random
from tests.tts.engines.chattts.row_independence import (
    LENGTH,
    POSITIONS,
    SEQUENCES,
    SLOTS,
    independence_check,
    sequence_compute,
    transformers_check,
)
from tests.tts.engines.chattts.row_overflow import SPOILS, Spoil, overflow_check, weights_loud
from tts.engines.chattts.backend import CacheShape, Precision
from tts.engines.chattts.torch_backend import ROW_BY_ROW, TorchBackend


def backend_make(precision: Precision = Precision.FP32, threads: int = 1) -> TorchBackend:
    return TorchBackend(
        weights_random(),
        TINY,
        CacheShape(SLOTS, POSITIONS),
        precision=precision,
        threads=threads,
        max_rows=32,
    )


@pytest.fixture(scope="module", params=list(Precision))
def backend(request: pytest.FixtureRequest) -> Iterator[TorchBackend]:
    backend = backend_make(request.param)
    yield backend
    backend.close()


def test_hidden_states_and_logits_are_those_of_transformers() -> None:
    transformers_check(backend_make())


@pytest.mark.parametrize(
    ("precision", "error"), [(Precision.BF16, 0.02), (Precision.INT8, 0.05)], ids=str
)
def test_lower_precision_stays_close(precision: Precision, error: float) -> None:
    hidden, _ = sequence_compute(backend_make(precision), SEQUENCES[0], 0, [LENGTH])
    exact, _ = sequence_compute(backend_make(), SEQUENCES[0], 0, [LENGTH])
    assert 1e-4 < relative_error(hidden, exact) < error


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_row_is_the_same_whatever_runs_beside_it(backend: TorchBackend, seed: int) -> None:
    independence_check(backend, seed)


def test_a_row_is_the_same_with_threads() -> None:
    backend = backend_make(threads=2)
    for seed in range(3):
        independence_check(backend, seed)


def test_a_slot_used_again_knows_nothing_of_its_past() -> None:
    backend = backend_make()
    sequence_compute(backend, np.full_like(SEQUENCES[1], np.nan), 3, [LENGTH])
    again, _ = sequence_compute(backend, SEQUENCES[0], 3, [5, 15])
    fresh, _ = sequence_compute(backend_make(), SEQUENCES[0], 3, [5, 15])
    np.testing.assert_array_equal(again, fresh)


def test_a_row_that_is_not_a_number_spoils_no_other() -> None:
    backend = backend_make(Precision.INT8)
    inputs = np.stack([SEQUENCES[0][0], np.full(TINY.hidden, np.nan, np.float32)])
    zeros = np.zeros(2, np.int32)
    hidden, _ = backend.forward(inputs, np.array([0, 1], np.int32), zeros, 0)
    first = hidden[0].copy()
    alone, _ = backend.forward(inputs[:1], zeros[:1], zeros[:1], 0)
    np.testing.assert_array_equal(first, alone[0])


def test_row_by_row_computes_the_same_numbers() -> None:
    backend = backend_make()
    order = np.random.default_rng(0).permutation(LENGTH)
    positions = order.astype(np.int32)
    slots = np.ones(LENGTH, np.int32)
    together, logits = (
        part.copy() for part in backend.forward(SEQUENCES[0][order], slots, positions, 4)
    )
    backend.granule = ROW_BY_ROW
    hidden, one_by_one = backend.forward(SEQUENCES[0][order], slots, positions, 4)
    np.testing.assert_allclose(hidden, together, atol=1e-5)
    np.testing.assert_allclose(one_by_one, logits, atol=1e-5)
    assert one_by_one.shape == (4, TINY.codebooks * TINY.audio_tokens)


def test_the_cache_is_counted() -> None:
    tokens = SLOTS * 32  # 24 positions are rounded up to whole cache lines
    assert backend_make().cache_bytes == 4 * TINY.cache_values * tokens


@pytest.mark.parametrize(
    ("slots", "positions", "heads", "complaint"),
    [
        ([0, SLOTS], [0, 0], 0, "slots must be from 0 to 5"),
        ([0, -1], [0, 0], 0, "slots must be from 0 to 5"),
        ([0, 1], [0, POSITIONS], 0, "positions must be from 0 to 23"),
        ([0, 0], [3, 3], 0, "same slot and position"),
        ([0, 1], [0, 0], 3, "heads of 3 rows"),
        ([0], [0], 0, "2 rows, but slots"),
    ],
)
def test_rows_out_of_range_are_refused(
    slots: list[int], positions: list[int], heads: int, complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint):
        backend_make().forward(
            SEQUENCES[0][:2], np.array(slots, np.int32), np.array(positions, np.int32), heads
        )


@pytest.mark.parametrize("shape", [(0, 64), (33, 64), (2, 63), (64,)])
def test_inputs_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    rows = np.zeros(shape[0], np.int32)
    with pytest.raises(ValueError, match="inputs are"):
        backend_make().forward(np.zeros(shape, np.float32), rows, rows, 0)


def test_a_slot_longer_than_the_model_is_refused() -> None:
    with pytest.raises(ValueError, match="a slot of 129 positions, the model has 128"):
        TorchBackend(weights_random(), TINY, CacheShape(1, 129))


@pytest.mark.parametrize("precision", Precision)
@pytest.mark.parametrize("spoil", SPOILS)
def test_an_overflow_is_its_own_row_s_alone(spoil: Spoil, precision: Precision) -> None:
    backend = TorchBackend(
        weights_loud(), TINY, CacheShape(SLOTS, POSITIONS), precision=precision, max_rows=32
    )
    overflow_check(backend, spoil)
    backend.close()
