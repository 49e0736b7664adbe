"""Rows whose numbers overflow, each in its way, and the check that every backend has to pass."""

from collections.abc import Callable

import numpy as np

from tests.tts.engines.chattts.random_gpt import TINY, inputs_random, weights_random
from tests.tts.engines.chattts.row_independence import sequence_compute
from tts.engines.chattts.backend import Floats, GptBackend, GptWeights

Spoil = Callable[[Floats], None]
SLOTS, LENGTH, BAD_SLOT, BAD_POSITION = 3, 6, 1, 4


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


SPOILS: tuple[Spoil, ...] = (_products, _squares, _infinite, _no_number)


def overflow_check(backend: GptBackend, spoil: Spoil) -> None:
    """Of a spoilt row nothing is a number; those of other slots, and before it, do not notice.

    The backend has `weights_loud`, four slots of `LENGTH` positions at least, and takes all rows
    in one call.
    """
    sequences = [quiet(seed) for seed in range(SLOTS)]
    alone = [sequence_compute(backend, inputs, 3, [1] * LENGTH) for inputs in sequences]
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
    again, _ = sequence_compute(backend, sequences[0], BAD_SLOT, [LENGTH])
    assert np.array_equal(again, alone[0][0])
