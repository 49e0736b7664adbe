"""A ConvNeXt block (arXiv:2201.03545) over time: its weights, and what computes it is to do."""

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

NORM_EPSILON = 1e-6


class BlockStep(Protocol):
    """What computes one block."""

    def __call__(self, frames: Tensor, wanted: int) -> Tensor:
        """Frames (..., margin + t + margin, c) to the first `wanted` of the t, float32 both.

        A margin is what the convolution sees on either side of a frame.
        """


@dataclass(frozen=True, slots=True)
class BlockWeights:
    """A block with its norm's gain and its layer scale folded into its matrices, float32.

    `depthwise` (width, c) and its bias (c,) for frames `dilation` apart, `wide` (4c, c) and
    `narrow` (c, 4c) with their biases.
    """

    depthwise: Tensor
    depthwise_bias: Tensor
    wide: Tensor
    wide_bias: Tensor
    narrow: Tensor
    narrow_bias: Tensor
    dilation: int

    @property
    def margin(self) -> int:
        """Frames that it sees on either side of one."""
        return self.dilation * (len(self.depthwise) // 2)
