"""The attention of row_attention.py as one Triton kernel: a program for each row and head."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from tts.engines.chattts.backend import CacheShape


@triton.jit  # type: ignore[untyped-decorator]
def attend(  # type: ignore[no-untyped-def]
    q,
    keys,
    values,
    slots,
    positions,
    out,
    length,
    HEADS: tl.constexpr,
    SIZE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """One row and head over the row's slot, `BLOCK` positions at a time, in float32."""
    row = tl.program_id(0)
    inside = tl.program_id(1) * SIZE + tl.arange(0, SIZE)
    begin = tl.load(slots + row) * length
    last = tl.load(positions + row).to(tl.int32)
    query = tl.load(q + row * HEADS * SIZE + inside)
    most = tl.full([1], float("-inf"), tl.float32)
    total = tl.zeros([1], tl.float32)
    summed = tl.zeros([SIZE], tl.float32)
    for start in range(0, last + 1, BLOCK):
        places = start + tl.arange(0, BLOCK)
        seen = places <= last
        offsets = (begin + places)[:, None] * (HEADS * SIZE) + inside[None, :]
        block = tl.load(keys + offsets, mask=seen[:, None], other=0.0).to(tl.float32)
        scores = tl.where(seen, tl.sum(block * query[None, :], 1), float("-inf"))
        higher = tl.maximum(most, tl.max(scores, 0))
        shrink = tl.exp(most - higher)
        weights = tl.exp(scores - higher)
        block = tl.load(values + offsets, mask=seen[:, None], other=0.0).to(tl.float32)
        total = total * shrink + tl.sum(weights, 0)
        summed = summed * shrink + tl.sum(weights[:, None] * block, 0)
        most = higher
    tl.store(out + row * HEADS * SIZE + inside, summed / total)


class TritonRowAttention:
    """A `RowAttention` for head sizes that are powers of two."""

    name = "triton"

    def __init__(self, cache: CacheShape, block: int) -> None:
        self._cache, self._block = cache, block

    def __call__(
        self, q: Tensor, keys: Tensor, values: Tensor, slots: Tensor, positions: Tensor, out: Tensor
    ) -> None:
        """See `RowAttention`."""
        rows, heads, size = q.shape
        if size & (size - 1):
            raise ValueError(f"a head size of {size} is no power of two")
        if not (q.is_contiguous() and out.is_contiguous() and q.dtype == torch.float32):
            raise ValueError("rows must be contiguous float32")
        attend[(rows, heads)](
            q, keys, values, slots, positions, out, self._cache.positions, heads, size, self._block
        )
