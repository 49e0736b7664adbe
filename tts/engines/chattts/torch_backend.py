"""The GPT on any CPU, with torch.

Its arithmetic is float32 in every precision but native bfloat16: it is the reference that the
native backend is compared with, and what runs where that cannot be built.
"""

from typing import Final

import numpy as np
import torch
from torch import Tensor

from tts.engines.chattts.backend import CacheShape, Floats, GptWeights, Ints, Precision
from tts.engines.chattts.config import GptConfig
from tts.engines.chattts.llama import Llama, rows_check, rows_probe

_ALIGNED: Final = 16
"""Positions of a slot are rounded up to it, so that every slot begins on a cache line."""
_GRANULES: Final = (1, 4, 8, 16)
ROW_BY_ROW: Final = 0
"""The granule where rows are computed one after another."""


class TorchBackend:
    """A `GptBackend` on the CPU.

    torch's matrix products round differently by their number of rows, and some by a row's
    place. Construction finds the least number that a call's rows have to be padded to a
    multiple of so that they do not: `granule`. `stable=False` does without, which at one to
    three rows is faster (about threefold at one row).
    """

    def __init__(
        self,
        weights: GptWeights,
        config: GptConfig,
        cache: CacheShape,
        *,
        precision: Precision = Precision.FP32,
        threads: int = 1,
        max_rows: int = 64,
        stable: bool = True,
    ) -> None:
        cache.check(config)
        self.cache = cache
        self.max_rows = max_rows
        self._threads = threads
        padded = -(-max_rows // max(_GRANULES)) * max(_GRANULES)
        self._llama = Llama(weights, config, precision, torch.device("cpu"), padded)
        self._config = config
        length = -(-cache.positions // _ALIGNED) * _ALIGNED
        shape = (config.layers, cache.slots, config.heads, length, config.head_size)
        self._keys = torch.zeros(shape)
        self._values = torch.zeros(shape)
        self._inputs = torch.zeros(padded, config.hidden)
        self._hidden = torch.zeros(padded, config.hidden)
        self.granule = self._find_granule() if stable else 1

    @property
    def cache_bytes(self) -> int:
        """Bytes of keys and values; float32 in every precision."""
        return self._keys.nbytes + self._values.nbytes

    def forward(
        self, inputs: Floats, slots: Ints, positions: Ints, heads: int
    ) -> tuple[Floats, Floats]:
        """See `GptBackend.forward`."""
        rows_check(inputs, slots, positions, heads, self._config.hidden, self.max_rows, self.cache)
        # One number for the whole process, which another model's loading may have changed.
        if torch.get_num_threads() != self._threads:
            torch.set_num_threads(self._threads)
        return self._compute(inputs, slots, positions, heads, self.granule)

    def close(self) -> None:
        """Free weights and cache."""
        del self._llama, self._keys, self._values, self._inputs, self._hidden

    @torch.inference_mode()
    def _compute(
        self,
        inputs: Floats,
        slots: Ints,
        positions: Ints,
        heads: int,
        granule: int,
        layers: int | None = None,
    ) -> tuple[Floats, Floats]:
        rows = len(inputs)
        if granule == ROW_BY_ROW:
            return self._one_by_one(inputs, slots, positions, heads, layers)
        padded = -(-rows // granule) * granule
        x = self._inputs[:padded]
        x[:rows] = torch.from_numpy(inputs)
        x[rows:] = 0.0
        attend = _Attention(self._keys, self._values, slots, positions)
        places = torch.zeros(padded, dtype=torch.int64)
        places[:rows] = torch.from_numpy(positions)
        hidden = self._hidden[:padded].copy_(self._llama.hidden(x, places, attend, layers))
        with_heads = -(-heads // granule) * granule
        logits = self._llama.logits(hidden[:with_heads])
        return hidden[:rows].numpy(), logits[:heads].numpy()

    def _one_by_one(
        self, inputs: Floats, slots: Ints, positions: Ints, heads: int, layers: int | None
    ) -> tuple[Floats, Floats]:
        hidden, logits = [], []
        order = np.argsort(positions, kind="stable")
        for row in order:
            one = slice(row, row + 1)
            state, heads_of_row = self._compute(
                inputs[one], slots[one], positions[one], int(row < heads), 1, layers
            )
            hidden.append(state.copy())
            logits.append(heads_of_row.copy())
        back = np.argsort(order, kind="stable")
        width = self._config.codebooks * self._config.audio_tokens
        scores = [logits[i] for i in back if len(logits[i])]
        return (
            np.concatenate([hidden[i] for i in back]),
            np.concatenate(scores) if scores else np.zeros((0, width), np.float32),
        )

    def _find_granule(self) -> int:
        """The first granule at which every row is the same in all sizes and at all places.

        One layer has every shape.
        """
        torch.set_num_threads(self._threads)
        inputs, slots, positions, random = rows_probe(self.cache, self._config, self.max_rows)
        rows = len(inputs)
        found = ROW_BY_ROW
        for granule in _GRANULES:
            hidden, logits = (
                part.copy() for part in self._compute(inputs, slots, positions, rows, granule, 1)
            )
            if all(
                np.array_equal(hidden[some], again) and np.array_equal(logits[some], scores)
                for some in _selections(rows, granule, random)
                for again, scores in (
                    self._compute(
                        inputs[some], slots[some], positions[some], len(some), granule, 1
                    ),
                )
            ):
                found = granule
                break
        self._keys.zero_()
        self._values.zero_()
        return found


def _selections(rows: int, granule: int, random: np.random.Generator) -> list[Ints]:
    """Rows in another order, for every number of them that comes out at another padding."""
    sizes = [size for size in range(1, rows + 1) if size % granule == 0 or size == rows]
    return [random.permutation(rows)[:size].astype(np.int32) for size in sizes]


class _Attention:
    """Each row over its own slot's positions up to its own: nothing of it depends on others."""

    def __init__(self, keys: Tensor, values: Tensor, slots: Ints, positions: Ints) -> None:
        self._keys, self._values = keys, values
        self._slots, self._positions = torch.from_numpy(slots), torch.from_numpy(positions)
        self._rows = [(int(s), int(p) + 1) for s, p in zip(slots, positions, strict=True)]

    def __call__(self, layer: int, q: Tensor, k: Tensor, v: Tensor, out: Tensor) -> None:
        keys, values, rows = self._keys[layer], self._values[layer], len(self._rows)
        keys[self._slots, :, self._positions] = k[:rows]
        values[self._slots, :, self._positions] = v[:rows]
        queries, results = q.unsqueeze(2), out.view(q.shape).unsqueeze(2)
        for row, (slot, length) in enumerate(self._rows):
            scores = torch.bmm(queries[row], keys[slot, :, :length].transpose(1, 2))
            torch.bmm(scores.softmax(-1), values[slot, :, :length], out=results[row])
        out[rows:] = 0.0
