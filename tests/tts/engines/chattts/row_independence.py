"""Sequences computed in parts, and the checks that every backend has to pass."""

import numpy as np

from tests.tts.engines.chattts.random_gpt import (
    TINY,
    inputs_random,
    llama_hidden,
    weights_random,
)
from tts.engines.chattts.backend import Floats, GptBackend

SLOTS, POSITIONS, LENGTH = 6, 24, 20
SEQUENCES = [inputs_random(TINY, LENGTH, seed) for seed in range(SLOTS)]


def sequence_compute(
    backend: GptBackend, inputs: Floats, slot: int, sizes: list[int]
) -> tuple[Floats, Floats]:
    """Hidden states and logits of one sequence, computed alone in parts of `sizes` rows."""
    hidden, logits, start = [], [], 0
    for size in sizes:
        positions = np.arange(start, start + size, dtype=np.int32)
        slots = np.full(size, slot, np.int32)
        state, scores = backend.forward(inputs[start : start + size], slots, positions, size)
        hidden.append(state.copy())
        logits.append(scores.copy())
        start += size
    return np.concatenate(hidden), np.concatenate(logits)


def transformers_check(backend: GptBackend) -> None:
    """A sequence in chunks has the hidden states and logits of transformers' LlamaModel."""
    hidden, logits = sequence_compute(backend, SEQUENCES[0], 2, [7, 1, 1, 11])
    expected = llama_hidden(weights_random(), TINY, SEQUENCES[0])
    np.testing.assert_allclose(hidden, expected, atol=1e-5, rtol=0)
    np.testing.assert_allclose(logits, expected @ weights_random().heads.T, atol=1e-5, rtol=0)


def independence_check(backend: GptBackend, seed: int) -> None:
    """Sequences in random slots advance by random chunks, in random order within a call."""
    random = np.random.default_rng(seed)
    count = int(random.integers(1, SLOTS + 1))
    slots = random.permutation(SLOTS)[:count]
    done = np.zeros(count, int)
    hidden = np.zeros((count, LENGTH, TINY.hidden), np.float32)
    logits: dict[tuple[int, int], Floats] = {}
    while done.min() < LENGTH:
        rows: list[tuple[int, int]] = []
        for index in random.permutation(count):
            most = min(LENGTH - done[index], backend.max_rows - len(rows), 9)
            size = int(random.integers(0, most + 1))
            rows += [(index, done[index] + step) for step in range(size)]
            done[index] += size
        if not rows:
            continue
        random.shuffle(rows)
        heads = int(random.integers(0, len(rows) + 1))
        states, scores = backend.forward(
            np.stack([SEQUENCES[index][position] for index, position in rows]),
            np.array([slots[index] for index, _ in rows], np.int32),
            np.array([position for _, position in rows], np.int32),
            heads,
        )
        for place, (index, position) in enumerate(rows):
            hidden[index, position] = states[place]
        for place in range(heads):
            logits[rows[place]] = scores[place].copy()
    for index in range(count):
        alone, alone_logits = sequence_compute(backend, SEQUENCES[index], 0, [1] * LENGTH)
        np.testing.assert_array_equal(hidden[index], alone)
        for (other, position), row in logits.items():
            if other == index:
                np.testing.assert_array_equal(row, alone_logits[position])
