"""What computes the GPT: one interface, several machines' ways."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tts.engines.chattts.config import GptConfig

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]


class Precision(StrEnum):
    """How weights are kept and multiplied; sums are float32 always.

    INT8: weights by output channel, activations by row, both symmetric. The heads, norms and
    the residual stream stay float32 in every precision.
    """

    FP32 = "fp32"
    BF16 = "bf16"
    INT8 = "int8"


@dataclass(frozen=True, slots=True)
class LayerWeights:
    """One transformer layer, float32, projections that share an input fused.

    Shapes: `input_norm` and `output_norm` (h,), `qkv` (3h, h) in the order q, k, v,
    `attention` (h, h), `gate_up` (2f, h) gate first, `down` (h, f).
    """

    input_norm: Floats
    qkv: Floats
    attention: Floats
    output_norm: Floats
    gate_up: Floats
    down: Floats

    @property
    def bytes(self) -> int:
        """Memory that the arrays take."""
        norms = self.input_norm.nbytes + self.output_norm.nbytes
        return norms + sum(
            matrix.nbytes for matrix in (self.qkv, self.attention, self.gate_up, self.down)
        )


@dataclass(frozen=True, slots=True)
class GptWeights:
    """The whole decoder: `norm` (h,), `heads` (codebooks * audio tokens, h), codebook by codebook.

    Weight normalisation of the heads is folded in.
    """

    layers: tuple[LayerWeights, ...]
    norm: Floats
    heads: Floats

    @property
    def bytes(self) -> int:
        """Memory that the arrays take."""
        layers = sum(layer.bytes for layer in self.layers)
        return layers + self.norm.nbytes + self.heads.nbytes


@dataclass(frozen=True, slots=True)
class CacheShape:
    """Room for keys and values: `slots` utterances of `positions` tokens each at most."""

    slots: int
    positions: int

    def check(self, config: GptConfig) -> None:
        """Raise ValueError where a slot holds more positions than the model has."""
        if self.positions > config.positions:
            raise ValueError(
                f"a slot of {self.positions} positions, the model has {config.positions}"
            )


class GptBackend(Protocol):
    """The decoder with its cache, for one owner thread.

    A row is one token of one slot. What it computes depends on its own slot's earlier tokens
    alone: bit for bit the same in any slot, at any place and beside any other rows.
    """

    cache: CacheShape
    max_rows: int
    """Rows of one `forward` at most."""

    @property
    def cache_bytes(self) -> int:
        """Bytes of memory that the cache takes."""

    def forward(
        self, inputs: Floats, slots: Ints, positions: Ints, heads: int
    ) -> tuple[Floats, Floats]:
        """Compute n rows: inputs (n, h) at `positions` (n,) of `slots` (n,).

        A slot may have several rows, of consecutive positions, in any order (prefill); each
        sees those before it in the same call. Earlier positions must have been computed.
        Returns the normalised hidden states (n, h), and the logits (heads, codebooks * audio
        tokens) of the first `heads` rows. The arrays are the caller's until the next call.
        Rows whose inputs are not finite, or whose numbers overflow, have results that are not,
        and no other slot's rows notice.
        Raises ValueError for shapes, slots or positions out of range; nothing is computed then.
        """

    def close(self) -> None:
        """Free weights and cache; nothing else is called afterwards."""
