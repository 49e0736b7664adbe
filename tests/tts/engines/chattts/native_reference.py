"""The decoder in plain numpy, one sequence at a time; and what native tests share."""

import numpy as np
from numpy.typing import NDArray

from tests.requirement import missing
from tests.tts.engines.chattts.random_gpt import TINY, inputs_random, weights_random
from tts.engines.chattts.backend import CacheShape, Floats, GptWeights, Precision
from tts.engines.chattts.config import GptConfig
from tts.engines.chattts.native.backend import NativeBackend
from tts.engines.chattts.native.binding import library
from tts.engines.chattts.native.declarations import InstructionSet
from tts.engines.chattts.native.packed import PackedWeights

Doubles = NDArray[np.float64]

CACHE = CacheShape(slots=4, positions=96)
# Sizes that fill no panel: 3 * 96 and 102 are odd ones out for every instruction set.
UNEVEN = GptConfig(
    layers=2, hidden=96, heads=2, intermediate=102, positions=128, text_tokens=9, audio_tokens=17
)
CONFIGS = {"even": TINY, "uneven": UNEVEN}


def decoder_reference(weights: GptWeights, config: GptConfig, inputs: Floats) -> Doubles:
    """Normalised hidden states (t, h) of one sequence: LLaMA as its paper has it, in float64."""
    size, count = config.head_size, len(inputs)
    angles = np.outer(np.arange(count), config.rope_theta ** (-np.arange(0, size, 2) / size))
    cosines, sines = (np.tile(f(angles), 2)[:, None] for f in (np.cos, np.sin))

    def norm(x: Doubles, weight: Floats) -> Doubles:
        scale = np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + config.norm_epsilon)
        normed: Doubles = x / scale * weight
        return normed

    def rotated(x: Doubles) -> Doubles:
        first, second = np.split(x, 2, axis=-1)
        turned: Doubles = x * cosines + np.concatenate([-second, first], axis=-1) * sines
        return turned

    hidden: Doubles = inputs.astype(np.float64)
    later = np.triu(np.ones((count, count), bool), 1)
    for layer in weights.layers:
        qkv = norm(hidden, layer.input_norm) @ layer.qkv.T.astype(np.float64)
        q, k, v = (x.reshape(count, config.heads, size) for x in np.split(qkv, 3, axis=-1))
        scores = np.einsum("qhd,khd->hqk", rotated(q), rotated(k)) / np.sqrt(size)
        scores[:, later] = -np.inf
        attention = np.exp(scores - scores.max(axis=-1, keepdims=True))
        attention /= attention.sum(axis=-1, keepdims=True)
        seen = np.einsum("hqk,khd->qhd", attention, v).reshape(count, config.hidden)
        hidden = hidden + seen @ layer.attention.T
        gate, up = np.split(norm(hidden, layer.output_norm) @ layer.gate_up.T, 2, axis=-1)
        hidden = hidden + (gate / (1 + np.exp(-gate)) * up) @ layer.down.T
    return norm(hidden, weights.norm)


def native_require(precision: Precision) -> None:
    """Skip the test where there is no native code."""
    reason = NativeBackend.available(precision)
    if reason is not None:
        missing(f"the native decoder ({reason})")


def native_backend(
    precision: Precision = Precision.FP32,
    *,
    config: GptConfig = TINY,
    wanted: InstructionSet = InstructionSet.BEST,
    threads: int = 1,
    cache: CacheShape = CACHE,
    weights: GptWeights | None = None,
) -> NativeBackend:
    """A backend of random weights; the test is skipped where there is none."""
    native_require(precision)
    if library().supports(precision, wanted) is None:
        # A compiler is every CI's, a certain processor is not.
        import pytest

        pytest.skip(f"needs a processor with {wanted.name} for {precision}")
    packed = PackedWeights.of(weights or weights_random(config), config, precision, wanted)
    return NativeBackend(packed, config, cache, precision, threads)


def sequence_run(
    backend: NativeBackend, inputs: Floats, slot: int, chunks: list[int]
) -> tuple[Floats, Floats]:
    """Hidden states and logits of a sequence that is given in chunks of these sizes."""
    hidden, logits, start = [], [], 0
    for size in chunks:
        part = inputs[start : start + size]
        positions = np.arange(start, start + len(part), dtype=np.int32)
        slots = np.full(len(part), slot, np.int32)
        states, scores = backend.forward(part, slots, positions, len(part))
        hidden.append(states)
        logits.append(scores)
        start += size
    return np.concatenate(hidden), np.concatenate(logits)


__all__ = [
    "CACHE",
    "CONFIGS",
    "TINY",
    "decoder_reference",
    "inputs_random",
    "native_backend",
    "sequence_run",
    "weights_random",
]
