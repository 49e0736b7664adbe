"""The native decoder computes what the formulas say."""

import numpy as np
import pytest

from tests.tts.engines.chattts.closeness import relative_error
from tests.tts.engines.chattts.native_reference import (
    CONFIGS,
    decoder_reference,
    inputs_random,
    native_backend,
    sequence_run,
    weights_random,
)
from tts.engines.chattts.backend import CacheShape, Floats, Precision
from tts.engines.chattts.native.declarations import InstructionSet

# Root mean square of the error of hidden states over theirs, random weights of two layers.
ERRORS = {Precision.FP32: 1e-5, Precision.BF16: 0.02, Precision.INT8: 0.04}
SETS = [InstructionSet.AVX2, InstructionSet.AVX512]


@pytest.mark.parametrize("wanted", SETS)
@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("precision", Precision)
def test_a_sequence_has_the_hidden_states_of_the_formulas(
    precision: Precision, name: str, wanted: InstructionSet
) -> None:
    config = CONFIGS[name]
    weights, inputs = weights_random(config), inputs_random(config, 77)
    backend = native_backend(precision, config=config, wanted=wanted, threads=2)
    hidden, logits = sequence_run(backend, inputs, 1, [1] * 77)
    reference = decoder_reference(weights, config, inputs)
    assert relative_error(hidden, reference) < ERRORS[precision]
    # The heads are float32 in every precision.
    assert relative_error(logits, hidden @ weights.heads.T) < 1e-6
    if precision is Precision.FP32:
        assert np.abs(hidden - reference).max() < 1e-5


@pytest.mark.parametrize("precision", Precision)
def test_a_prompt_in_chunks_is_the_prompt_token_by_token(precision: Precision) -> None:
    inputs = inputs_random(CONFIGS["even"], 90)
    cache = CacheShape(4, 96)
    one_by_one = sequence_run(native_backend(precision, cache=cache), inputs, 0, [1] * 90)
    for chunks in ([90], [64, 26], [5, 70, 1, 14]):
        together = sequence_run(native_backend(precision, cache=cache), inputs, 3, chunks)
        assert all(np.array_equal(a, b) for a, b in zip(one_by_one, together, strict=True))


def test_rows_of_a_prompt_may_come_in_any_order() -> None:
    inputs = inputs_random(CONFIGS["even"], 90)
    expected, _ = sequence_run(native_backend(), inputs, 0, [90])
    order = np.random.default_rng(1).permutation(90).astype(np.int32)
    hidden, _ = native_backend().forward(inputs[order], np.zeros(90, np.int32), order, 0)
    assert np.array_equal(hidden, expected[order])


def test_logits_are_of_the_first_rows_alone() -> None:
    backend, inputs = native_backend(), inputs_random(CONFIGS["even"], 6)
    slots = np.array([2, 0, 1, 0, 3, 0], np.int32)
    positions = np.array([0, 1, 0, 0, 0, 2], np.int32)
    hidden, logits = backend.forward(inputs, slots, positions, 2)
    heads = weights_random(CONFIGS["even"]).heads
    assert logits.shape == (2, len(heads))
    assert relative_error(logits, hidden[:2] @ heads.T) < 1e-6


def test_no_rows_are_no_work() -> None:
    nobody = np.empty(0, np.int32)
    hidden, logits = native_backend().forward(np.empty((0, 64), np.float32), nobody, nobody, 0)
    assert len(hidden) == len(logits) == 0


def test_extreme_inputs_stay_finite() -> None:
    inputs: Floats = inputs_random(CONFIGS["even"], 3) * np.float32(1e15)
    inputs[1] = 0.0
    for precision in Precision:
        hidden, logits = sequence_run(native_backend(precision), inputs, 0, [3])
        assert np.isfinite(hidden).all()
        assert np.isfinite(logits).all()
