"""The arithmetic of ChatTTS' LLaMA in torch, without its attention, which differs by machine.

The formulas are those of transformers' LlamaModel: RMS norm, rotary positions in two halves,
SiLU-gated feed-forward, residual stream in float32.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from torch import Tensor

from tts.engines.chattts.backend import CacheShape, Floats, GptWeights, Ints, Precision
from tts.engines.chattts.config import GptConfig
from tts.engines.chattts.linear import Linear, linear

Attend = Callable[[int, Tensor, Tensor, Tensor, Tensor], None]
"""Called as (layer, q, k, v, out): q, k, v (m, heads, head size), q and k rotated, q scaled.

Stores k and v and writes what the rows attend to into out (m, hidden).
"""
_GRAIN: Final = 32_768
"""Values from which on torch shares an elementwise operation among CPU threads."""


@dataclass(frozen=True, slots=True)
class _Layer:
    input_norm: Tensor
    qkv: Linear
    attention: Linear
    output_norm: Tensor
    gate_up: Linear
    down: Linear


class Llama:
    """All layers and heads on one device, with buffers for `max_rows` rows."""

    def __init__(
        self,
        weights: GptWeights,
        config: GptConfig,
        precision: Precision,
        device: torch.device,
        max_rows: int,
    ) -> None:
        self.config = config
        self._layers = [
            _Layer(
                torch.from_numpy(layer.input_norm).to(device),
                linear(layer.qkv, precision, device),
                linear(layer.attention, precision, device),
                torch.from_numpy(layer.output_norm).to(device),
                linear(layer.gate_up, precision, device),
                linear(layer.down, precision, device),
            )
            for layer in weights.layers
        ]
        self._norm = torch.from_numpy(weights.norm).to(device)
        self._heads = linear(weights.heads, Precision.FP32, device)
        self._cos, self._sin = rotary_tables(config, device)
        self._scale = config.head_size**-0.5
        self._silu_rows = max_rows if device.type == "cuda" else _unshared_rows(config.intermediate)
        hidden, wide = config.hidden, config.intermediate
        sizes = (3 * hidden, hidden, 2 * wide, wide, hidden, self._heads.outputs)
        self._buffers = [torch.zeros(max_rows, size, device=device) for size in sizes]

    def hidden(
        self, x: Tensor, positions: Tensor, attend: Attend, layers: int | None = None
    ) -> Tensor:
        """The normalised hidden states of x (m, hidden), which is overwritten, at `positions` (m,).

        `layers`: how many of them to compute; all if not given.
        """
        rows, heads, size = x.shape[0], self.config.heads, self.config.head_size
        qkv, attended, gate_up, gated, added, _ = (buffer[:rows] for buffer in self._buffers)
        cos, sin = self._cos[positions, None, None], self._sin[positions, None, None]
        for index, layer in enumerate(self._layers[:layers]):
            layer.qkv(self._rms(x, layer.input_norm), qkv)
            split = qkv.view(rows, 3, heads, size)
            q, k = rotate(split[:, :2], cos, sin).unbind(1)
            attend(index, q * self._scale, k, split[:, 2], attended)
            x += layer.attention(attended, added)
            layer.gate_up(self._rms(x, layer.output_norm), gate_up)
            self._gate(gate_up, gated)
            x += layer.down(gated, added)
        return self._rms(x, self._norm)

    def logits(self, hidden: Tensor) -> Tensor:
        """The heads' (m, codebooks * audio tokens), in a buffer of their own."""
        return self._heads(hidden, self._buffers[-1][: hidden.shape[0]])

    def _rms(self, x: Tensor, weight: Tensor) -> Tensor:
        """The norm; of a row whose squares overflow nothing is a number, rather than all zero."""
        if x.device.type == "cuda":  # one kernel instead of six
            normed = torch.nn.functional.rms_norm(x, weight.shape, weight, self.config.norm_epsilon)
            # Nothing makes a row quiet again, so that the last norm is enough to tell.
            return normed if weight is not self._norm else normed + _overflow(x)
        mean = (x * x).mean(-1, keepdim=True)
        factor = torch.rsqrt(mean + self.config.norm_epsilon) + (mean - mean)
        return weight * (x * factor)

    def _gate(self, gate_up: Tensor, out: Tensor) -> None:
        """SiLU(gate) * up, in calls too small to be shared among threads.

        At a share's border torch's CPU kernels change from vector to scalar exponentials, whose
        last bits differ, so a row's result would depend on its place.
        """
        wide = self.config.intermediate
        for start in range(0, out.shape[0], self._silu_rows):
            block = slice(start, start + self._silu_rows)
            gate, up = gate_up[block, :wide], gate_up[block, wide:]
            torch.mul(torch.nn.functional.silu(gate), up, out=out[block])


def _overflow(x: Tensor) -> Tensor:
    """0 for every row (m, 1) of x (m, h) whose sum of squares is a number, else none."""
    norm: Tensor = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    return norm - norm


def _unshared_rows(width: int) -> int:
    """Rows of `width` that stay below the grain; one where a row is no whole number of vectors."""
    return max(1, (_GRAIN - 1) // width) if width % 32 == 0 else 1


def rotary_tables(config: GptConfig, device: torch.device) -> tuple[Tensor, Tensor]:
    """Cosines and sines (positions, head size), computed in float32 whatever the precision.

    One more row, of the last position's numbers, serves a cache's scratch position.
    """
    size = config.head_size
    steps = torch.arange(0, size, 2, dtype=torch.int64).float() / size
    frequencies = 1.0 / config.rope_theta**steps
    angles = torch.outer(torch.arange(config.positions + 1).float(), frequencies)
    doubled = torch.cat((angles, angles), dim=-1)
    return doubled.cos().to(device), doubled.sin().to(device)


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate pairs (i, i + size / 2) of the last dimension (RoFormer, arXiv:2104.09864)."""
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


def rows_probe(
    cache: CacheShape, config: GptConfig, most: int
) -> tuple[Floats, Ints, Ints, np.random.Generator]:
    """Up to `most` rows of random inputs (n, h), with their slots and positions (n,).

    For a backend that finds out which numbers of rows give the same bits: no result depends on
    data but through rounding, so random numbers show any difference in the order of sums.
    The generator goes on where the inputs ended.
    """
    random = np.random.Generator(np.random.Philox(1))
    count = min(most, cache.slots * cache.positions)
    inputs = random.standard_normal((count, config.hidden), dtype=np.float32)
    order = np.arange(count, dtype=np.int32)
    return inputs, order % cache.slots, order // cache.slots, random


def rows_check(
    inputs: Floats,
    slots: Ints,
    positions: Ints,
    heads: int,
    hidden: int,
    max_rows: int,
    cache: CacheShape,
) -> None:
    """Raise ValueError unless these are arguments that `GptBackend.forward` takes."""
    rows = len(inputs)
    if inputs.shape != (rows, hidden) or not 1 <= rows <= max_rows:
        raise ValueError(f"inputs are {inputs.shape}, allowed is (1 to {max_rows}, {hidden})")
    if slots.shape != (rows,) or positions.shape != (rows,):
        raise ValueError(f"{rows} rows, but slots {slots.shape} and positions {positions.shape}")
    if not 0 <= heads <= rows:
        raise ValueError(f"heads of {heads} rows asked for, there are {rows}")
    for name, values, limit in (
        ("slots", slots, cache.slots),
        ("positions", positions, cache.positions),
    ):
        if values.min() < 0 or values.max() >= limit:
            raise ValueError(f"{name} must be from 0 to {limit - 1}, got {values.tolist()}")
    places = slots.astype(np.int64) * cache.positions + positions
    if len(np.unique(places)) != rows:
        raise ValueError("two rows have the same slot and position")
