"""A row whose numbers overflow gives none, and no other slot notices."""

from collections.abc import Callable

import numpy as np
import pytest

from tests.tts.engines.chattts.looping import EMBEDDINGS, loop_make, run, spoken
from tests.tts.engines.chattts.native_reference import (
    TINY,
    inputs_random,
    native_backend,
    sequence_run,
    weights_random,
)
from tts.engines.chattts.backend import CacheShape, Floats, GptWeights, Precision
from tts.engines.chattts.generation import Generation, NotFinite, Prompt
from tts.engines.chattts.loop import StepLoop
from tts.engines.chattts.native.declarations import InstructionSet
from tts.engines.chattts.random_stream import StreamKey
from tts.engines.chattts.weights import Embeddings

SLOTS, LENGTH, BAD_SLOT, BAD_POSITION = 3, 6, 1, 4
SETS = [InstructionSet.AVX2, InstructionSet.AVX512]


def weights_loud() -> GptWeights:
    """Of an input with a number in dimension 0, queries times keys overflow; all else is small.

    Nothing writes to that dimension, so that all others stay as quiet as they were.
    """
    weights = weights_random()
    for layer in weights.layers:
        layer.attention[0] = layer.down[0] = 0
    weights.layers[0].input_norm[0] = 1e25
    weights.layers[0].qkv[2 * TINY.hidden :, 0] = 0
    return weights


def quiet(seed: int) -> Floats:
    inputs = inputs_random(TINY, LENGTH, seed)
    inputs[:, 0] = 0
    return inputs


def _products(row: Floats) -> None:
    row[0] = 1


def _squares(row: Floats) -> None:
    row[1:] *= np.float32(1e20)


def _infinite(row: Floats) -> None:
    row[5] = np.inf


def _no_number(row: Floats) -> None:
    row[5] = np.nan


@pytest.mark.parametrize("wanted", SETS)
@pytest.mark.parametrize("precision", Precision)
@pytest.mark.parametrize("spoil", [_products, _squares, _infinite, _no_number])
def test_an_overflow_is_its_own_row_s_alone(
    spoil: Callable[[Floats], None], precision: Precision, wanted: InstructionSet
) -> None:
    backend = native_backend(precision, wanted=wanted, threads=2, weights=weights_loud())
    sequences = [quiet(seed) for seed in range(SLOTS)]
    alone = [sequence_run(backend, inputs, 3, [1] * LENGTH) for inputs in sequences]
    spoilt = [inputs.copy() for inputs in sequences]
    spoil(spoilt[BAD_SLOT][BAD_POSITION])
    rows = SLOTS * LENGTH
    slots = np.repeat(np.arange(SLOTS, dtype=np.int32), LENGTH)
    positions = np.tile(np.arange(LENGTH, dtype=np.int32), SLOTS)
    hidden, logits = backend.forward(np.concatenate(spoilt), slots, positions, rows)
    bad = BAD_SLOT * LENGTH + BAD_POSITION
    assert not np.isfinite(hidden[bad]).any()
    assert not np.isfinite(logits[bad]).any()
    # Neither those before it in its slot nor any in other slots; those after it may hear of it.
    others = (slots != BAD_SLOT) | (positions < BAD_POSITION)
    for found, place in ((hidden, 0), (logits, 1)):
        expected = np.concatenate([parts[place] for parts in alone])
        assert np.array_equal(found[others], expected[others])
    # The slot has forgotten it when it is used again.
    again, _ = sequence_run(backend, sequences[0], BAD_SLOT, [LENGTH])
    assert np.array_equal(again, alone[0][0])


@pytest.mark.parametrize("precision", Precision)
def test_the_loop_ends_that_row_alone(precision: Precision) -> None:
    tables = Embeddings(EMBEDDINGS.text.copy(), EMBEDDINGS.audio.copy())
    tables.text[:, 0] = tables.audio[:, :, 0] = 0
    speaker = inputs_random(TINY, 1)[0]
    speaker[0] = 0
    loud = speaker.copy()
    loud[0] = 1

    def generation(seed: int, vector: Floats) -> Generation:
        return Generation(Prompt((1, 2, 3), 1, vector), StreamKey(seed), 5, min_tokens=5)

    def loop() -> StepLoop:
        backend = native_backend(precision, weights=weights_loud(), cache=CacheShape(3, 64))
        return loop_make(backend, embeddings=tables)

    together = loop()
    rows = [
        together.join(generation(seed, loud if seed == 1 else speaker)) for seed in range(SLOTS)
    ]
    steps = run(together, rows)
    (only,) = steps[rows[1]]
    assert isinstance(only.error, NotFinite)
    for seed in (0, 2):
        alone = loop()
        row = alone.join(generation(seed, speaker))
        assert spoken(steps[rows[seed]]) == spoken(run(alone, [row])[row])
    assert together.free_slots == SLOTS
