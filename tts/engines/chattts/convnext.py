"""ConvNeXt blocks over time, as ChatTTS and vocos use them, computed window by window.

Frames are rows (frames, channels), so that every pointwise convolution is one matrix product;
windows of one shape may be stacked in front of them (windows, frames, channels).
A window begins where the last one ended: what lies before it is remembered at every
convolution, what lies behind it is as much as the caller knows, then zeros. Remembered frames
of a new stream are zeros, which is the padding of the original, so a stream in one window is
the original's whole decode.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from tts.engines.chattts.block import BlockStep, BlockWeights
from tts.engines.chattts.projection import Projection, Projections

Tensors = Mapping[str, Tensor]


class Past:
    """What a stream's convolutions remember, taken and renewed in the order they run.

    `kept` is what the window before this one left (None at a stream's start), `advance` how
    many frames this window settles; later ones it has are context, and will come again.
    """

    def __init__(self, kept: Sequence[Tensor] | None, advance: int) -> None:
        self._kept = kept
        self._advance = advance
        self.left: list[Tensor] = []
        """For the next window."""

    @property
    def started(self) -> bool:
        """Whether a window came before this one."""
        return self._kept is not None

    def extended(self, frames: Tensor, before: int, behind: int) -> Tensor:
        """`frames` (t, c) with `before` remembered ones in front and `behind` zeros after."""
        *stacked, _, channels = frames.shape
        kept = (
            frames.new_zeros(*stacked, before, channels)
            if self._kept is None
            else self._kept[len(self.left)]
        )
        whole = torch.cat((kept, frames, frames.new_zeros(*stacked, behind, channels)), dim=-2)
        self.left.append(whole[..., self._advance : self._advance + before, :].clone())
        return whole


@dataclass(frozen=True, slots=True)
class Convolution:
    """A convolution of odd width over all channels, as a projection of its (width * in) taps."""

    taps: Projection
    width: int

    @classmethod
    def of(cls, weight: Tensor, bias: Tensor | None, projections: Projections) -> "Convolution":
        """From torch's layout (out, in, width)."""
        flat = weight.transpose(1, 2).reshape(weight.shape[0], -1)
        return cls(projections.add(flat, bias), weight.shape[2])

    def __call__(self, frames: Tensor, past: Past) -> Tensor:
        """Frames (t, in) to (t, out), float32."""
        margin = self.width // 2
        whole = past.extended(frames, margin, margin)
        taps = [whole[..., tap : tap + frames.shape[-2], :] for tap in range(self.width)]
        return self.taps(torch.cat(taps, dim=-1))


@dataclass(frozen=True, slots=True)
class Block:
    """One ConvNeXt block of a stream; `margin`: frames that it sees on either side of one."""

    step: BlockStep
    margin: int

    @classmethod
    def of(
        cls, tensors: Tensors, name: str, scale: str, dilation: int, projections: Projections
    ) -> "Block":
        """The block `name` of a checkpoint; its layer scale is the tensor `scale` within it."""
        norm, shift = tensors[f"{name}.norm.weight"], tensors[f"{name}.norm.bias"]
        wide, gain = tensors[f"{name}.pwconv1.weight"], tensors[f"{name}.{scale}"]
        weights = BlockWeights(
            depthwise=tensors[f"{name}.dwconv.weight"].squeeze(1).t(),
            depthwise_bias=tensors[f"{name}.dwconv.bias"],
            wide=wide * norm,
            wide_bias=tensors[f"{name}.pwconv1.bias"] + wide @ shift,
            narrow=tensors[f"{name}.pwconv2.weight"] * gain[:, None],
            narrow_bias=tensors[f"{name}.pwconv2.bias"] * gain,
            dilation=dilation,
        )
        return cls(projections.add_block(weights), weights.margin)

    def __call__(self, frames: Tensor, past: Past, wanted: int) -> Tensor:
        """Frames (t, c) to the first `wanted` of the next layer's."""
        return self.step(past.extended(frames, self.margin, self.margin), wanted)


def blocks_run(blocks: Sequence[Block], frames: Tensor, past: Past, wanted: int) -> Tensor:
    """All blocks, each for no more frames than the `wanted` first of the last one need."""
    behind = sum(block.margin for block in blocks)
    for block in blocks:
        behind -= block.margin
        frames = block(frames, past, min(frames.shape[-2], wanted + behind))
    return frames
