"""The vocoder's products and blocks of frames, by whatever computes them best on a device.

Projections
├── TorchProjections    any device
└── NativeProjections   our C++, on CPUs where it can be compiled
"""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional

from tts.engines.chattts.backend import Precision
from tts.engines.chattts.block import NORM_EPSILON, BlockStep, BlockWeights
from tts.engines.chattts.compute import weight_dtype
from tts.engines.chattts.native.backend import NativeBackend
from tts.engines.chattts.native.projections import NativeProjections


class Projection(Protocol):
    """y = x W^T + b."""

    def __call__(self, frames: Tensor) -> Tensor:
        """Frames (..., inputs), float32, to (..., outputs), float32."""


class Projections(Protocol):
    """Makes projections of one precision on one device."""

    @property
    def torch_threads(self) -> int:
        """How many threads torch may use between products."""

    @property
    def bytes(self) -> int:
        """Memory that all of them take."""

    def add(self, weight: Tensor, bias: Tensor | None) -> Projection:
        """The projection by `weight` (outputs, inputs), float32; not kept where it is copied."""

    def add_block(self, weights: BlockWeights) -> BlockStep:
        """A ConvNeXt block of such projections; its convolution and residual stay float32."""


@dataclass(frozen=True, slots=True)
class TorchProjection:
    """Weight (outputs, inputs) and bias (outputs,) as they are multiplied, perhaps in bfloat16."""

    weight: Tensor
    bias: Tensor | None

    def __call__(self, frames: Tensor) -> Tensor:
        """See Projection."""
        return functional.linear(frames.to(self.weight.dtype), self.weight, self.bias).float()


@dataclass(frozen=True, slots=True)
class TorchBlock:
    """A block; `depthwise` and its bias are on its device."""

    depthwise: Tensor
    depthwise_bias: Tensor
    dilation: int
    margin: int
    wide: TorchProjection
    narrow: TorchProjection

    def __call__(self, frames: Tensor, wanted: int) -> Tensor:
        """See BlockStep."""
        mixed = torch.addcmul(self.depthwise_bias, frames[..., :wanted, :], self.depthwise[0])
        for tap in range(1, len(self.depthwise)):
            start = tap * self.dilation
            mixed.addcmul_(frames[..., start : start + wanted, :], self.depthwise[tap])
        mixed = functional.layer_norm(mixed, mixed.shape[-1:], eps=NORM_EPSILON)
        added = self.narrow(functional.gelu(self.wide(mixed)))
        return frames[..., self.margin : self.margin + wanted, :] + added


@dataclass(slots=True)
class TorchProjections:
    """Torch's own products on `device`; `bytes` are those of the weights so far."""

    device: torch.device
    precision: Precision
    torch_threads: int
    bytes: int = 0

    def add(self, weight: Tensor, bias: Tensor | None) -> TorchProjection:
        """See Projections."""
        dtype = weight_dtype(self.precision, self.device)
        self.bytes += dtype.itemsize * (weight.numel() + (0 if bias is None else bias.numel()))
        return TorchProjection(
            weight.to(self.device, dtype).contiguous(),
            None if bias is None else bias.to(self.device, dtype).contiguous(),
        )

    def add_block(self, weights: BlockWeights) -> TorchBlock:
        """See Projections."""
        return TorchBlock(
            weights.depthwise.to(self.device).contiguous(),
            weights.depthwise_bias.to(self.device),
            weights.dilation,
            weights.margin,
            self.add(weights.wide, weights.wide_bias),
            self.add(weights.narrow, weights.narrow_bias),
        )


def projections_create(device: torch.device, precision: Precision, threads: int) -> Projections:
    """The fastest of `device`. Raises ValueError for INT8, which the vocoder has not.

    Our C++ multiplies few rows as fast as many, by all threads, where torch loses half of them.
    """
    numbers = weight_dtype(precision, device)
    kept = Precision.BF16 if numbers is torch.bfloat16 else Precision.FP32
    if device.type == "cpu" and NativeBackend.available(kept) is None:
        return NativeProjections(kept, threads)
    return TorchProjections(device, precision, threads)
