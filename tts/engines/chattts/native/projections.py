"""Matrices that our own C++ multiplies rows by, each row alike whatever rows are beside it."""

import threading
import weakref
from dataclasses import dataclass

import torch
from torch import Tensor

from tts.engines.chattts.backend import Precision
from tts.engines.chattts.block import NORM_EPSILON, BlockWeights
from tts.engines.chattts.native.binding import NativeError, library
from tts.engines.chattts.native.declarations import Array, InstructionSet


class NativeProjections:
    """Matrices of one precision, and the `threads` threads that multiply by them.

    One product at a time; the others wait. Raises NativeError where this machine cannot.
    """

    torch_threads = 1
    """Torch's threads wait for work by spinning, and would take the cores from these."""

    def __init__(self, precision: Precision, threads: int) -> None:
        self._library = library()
        if self._library.supports(precision, InstructionSet.BEST) is None:
            raise NativeError(f"this processor has no instructions for {precision}")
        self._lock = threading.Lock()
        self._handle = self._library.projections_create(precision, InstructionSet.BEST, threads)
        self._free = weakref.finalize(self, self._library.projections_free, self._handle)
        # At the end of the process a thread may still be computing with it; memory goes by itself.
        self._free.atexit = False

    @property
    def bytes(self) -> int:
        """Memory that the matrices take."""
        return self._library.projections_bytes(self._handle)

    def add(self, weight: Tensor, bias: Tensor | None) -> "NativeProjection":
        """Pack `weight` (outputs, inputs), which is not kept. Raises ValueError, MemoryError."""
        values = weight.detach().float().contiguous().numpy()
        added = torch.zeros(len(values)) if bias is None else bias.detach().float().contiguous()
        with self._lock:
            index = self._library.projections_add(self._handle, values, added.numpy())
        return NativeProjection(self, index, *values.shape)

    def add_block(self, weights: BlockWeights) -> "NativeBlock":
        """Pack a ConvNeXt block, which is not kept. Raises ValueError, MemoryError."""
        wide = self.add(weights.wide, weights.wide_bias)
        narrow = self.add(weights.narrow, weights.narrow_bias)
        taps, bias = (
            values.detach().float().contiguous()
            for values in (weights.depthwise, weights.depthwise_bias)
        )
        with self._lock:
            index = self._library.projections_add_block(
                self._handle,
                _array(taps),
                _array(bias),
                weights.dilation,
                NORM_EPSILON,
                (wide.index, narrow.index),
            )
        return NativeBlock(self, index)

    def run_block(self, index: int, frames: Tensor, outputs: Tensor) -> None:
        """Write a block's frames to `outputs`, both contiguous float32."""
        with self._lock:
            self._library.projections_run_block(
                self._handle, index, _array(frames), _array(outputs)
            )

    def multiply(self, index: int, inputs: Tensor, outputs: Tensor) -> None:
        """Write the products of `inputs` to `outputs`, both contiguous float32."""
        with self._lock:
            self._library.projections_multiply(self._handle, index, _array(inputs), _array(outputs))


@dataclass(frozen=True, slots=True)
class NativeProjection:
    """One of them: y = x W^T + b, for x (..., inputs)."""

    owner: NativeProjections
    index: int
    outputs: int
    inputs: int

    def __call__(self, frames: Tensor) -> Tensor:
        """Frames (..., inputs) to (..., outputs), float32."""
        if frames.shape[-1] != self.inputs:
            raise ValueError(f"rows of {frames.shape[-1]} values, expected {self.inputs}")
        frames = frames.float().contiguous()
        out = torch.empty(*frames.shape[:-1], self.outputs)
        self.owner.multiply(self.index, frames, out)
        return out


@dataclass(frozen=True, slots=True)
class NativeBlock:
    """A ConvNeXt block of such matrices."""

    owner: NativeProjections
    index: int

    def __call__(self, frames: Tensor, wanted: int) -> Tensor:
        """See BlockStep; windows that are stacked are computed one after another."""
        if frames.dim() > 2:
            return torch.stack([self(window, wanted) for window in frames])
        frames = frames.float().contiguous()
        out = torch.empty(wanted, frames.shape[-1])
        self.owner.run_block(self.index, frames, out)
        return out


def _array(values: Tensor) -> Array:
    return Array(values.data_ptr(), values.numel())
