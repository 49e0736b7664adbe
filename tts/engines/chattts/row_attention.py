"""Attention of single rows over a cache of fixed slots, each row for itself.

RowAttention
├── TorchRowAttention   torch's operators, on any device
└── TritonRowAttention  one kernel (row_kernel.py), where Triton can compile it

Both go through a row's own positions block by block, in their order, with a running maximum
(online softmax, arXiv:1805.02867), in float32. Which rows are beside it, which slot it has and
what later positions of its slot hold changes nothing of a row.
"""

import logging
from math import inf, isnan
from typing import Final, Protocol

import torch
from torch import Tensor

from tts.engines.chattts.backend import CacheShape

logger = logging.getLogger(__name__)

_BLOCK: Final = 64
"""Positions that are attended to at once."""
_TOLERANCE: Final = 1e-3
"""Between the two, of numbers near one: they sum in other orders."""
_TRIED_SLOTS: Final = 4


class RowAttention(Protocol):
    """Keys and values of one layer are (slots * positions + 1, heads, head size), slot by slot.

    The last place belongs to rows that only fill a batch up: slot `slots`, position 0.
    """

    name: str

    def __call__(
        self, q: Tensor, keys: Tensor, values: Tensor, slots: Tensor, positions: Tensor, out: Tensor
    ) -> None:
        """Rows q (m, heads, head size), scaled, attend up to `positions` (m,); out (m, hidden)."""


class TorchRowAttention:
    """Gathers a block of every row at a time: several times slower than the kernel."""

    name = "torch"

    def __init__(self, cache: CacheShape) -> None:
        self._cache = cache

    def __call__(
        self, q: Tensor, keys: Tensor, values: Tensor, slots: Tensor, positions: Tensor, out: Tensor
    ) -> None:
        """See `RowAttention`."""
        rows, heads, size = q.shape
        query = q.unsqueeze(2)
        most = q.new_full((rows, heads, 1), -torch.inf)
        total = torch.zeros_like(most)
        summed = torch.zeros_like(q)
        steps = torch.arange(_BLOCK, device=q.device)
        for start in range(0, self._cache.positions, _BLOCK):
            places = start + steps
            seen = places <= positions[:, None]
            # Unseen places may hold anything, also what is not a number.
            found = torch.where(seen, slots[:, None] * self._cache.positions + places, 0)
            hidden = ~seen[:, :, None, None]
            block_keys = keys[found].float().masked_fill_(hidden, 0.0)
            block_values = values[found].float().masked_fill_(hidden, 0.0)
            scores = torch.matmul(query, block_keys.permute(0, 2, 3, 1)).squeeze(2)
            scores = scores.masked_fill(~seen[:, None], -torch.inf)
            higher = torch.maximum(most, scores.amax(-1, keepdim=True))
            shrink = torch.exp(most - higher)
            weights = torch.exp(scores - higher)
            total = total * shrink + weights.sum(-1, keepdim=True)
            added = torch.matmul(weights.unsqueeze(2), block_values.transpose(1, 2)).squeeze(2)
            summed = summed * shrink + added
            most = higher
        torch.div(summed, total, out=out.view(rows, heads, size))


def row_attention(
    cache: CacheShape, heads: int, size: int, device: torch.device, dtype: torch.dtype
) -> RowAttention:
    """The fastest that `device` computes rightly: the kernel is tried, and held against torch."""
    plain = TorchRowAttention(cache)
    if device.type != "cuda":
        return plain
    try:
        from tts.engines.chattts.row_kernel import TritonRowAttention

        kernel = TritonRowAttention(cache, _BLOCK)
        error = _difference(kernel, plain, cache, heads, size, device, dtype)
    except torch.OutOfMemoryError:
        raise
    except Exception as failure:  # noqa: BLE001 - whatever a compiler does wrong, torch computes
        logger.warning("attention by torch, several times slower: %s", failure)
        return plain
    if error > _TOLERANCE:
        logger.warning("attention by torch, several times slower: the kernel is off by %g", error)
        return plain
    return kernel


def _difference(
    one: RowAttention,
    other: RowAttention,
    cache: CacheShape,
    heads: int,
    size: int,
    device: torch.device,
    dtype: torch.dtype,
) -> float:
    """The largest difference of the two on random numbers; infinite for what is none."""
    random = torch.Generator(device).manual_seed(1)
    used = min(cache.slots, _TRIED_SLOTS)
    shape = (used * cache.positions + 1, heads, size)
    keys, values = (torch.randn(shape, generator=random, device=device).to(dtype) for _ in range(2))
    slots = torch.arange(used + 1, device=device)
    positions = torch.linspace(0, cache.positions - 1, len(slots), device=device).long()
    positions[-1] = 0
    q = torch.randn((len(slots), heads, size), generator=random, device=device)
    outs = []
    for attention in (one, other):
        out = torch.zeros(len(slots), heads * size, device=device)
        attention(q, keys, values, slots, positions, out)
        outs.append(out)
    error = float((outs[0] - outs[1]).abs().max())
    return inf if isnan(error) else error
