"""Hidden states, or audio tokens, to mel frames: ChatTTS' Decoder, and its DVAE's decoder."""

import torch
from torch import Tensor
from torch.nn import functional

from tts.engine.errors import VersionUnavailable
from tts.engines.chattts import layout
from tts.engines.chattts.compute import tensors_read
from tts.engines.chattts.config import ConvConfig, ModelConfig
from tts.engines.chattts.convnext import Block, Convolution, Past, Tensors, blocks_run
from tts.engines.chattts.projection import Projections
from tts.engines.chattts.quantizer import Quantizer
from tts.engines.chattts.tensor_file import Buffer

TOKEN_FRAMES = 2
"""Mel frames a token: one from each half of its vector."""
_DILATION = 2


class ConvStack:
    """ChatTTS' `DVAEDecoder` up to its last projection: frames (t, idim) to (t, hidden)."""

    def __init__(
        self,
        tensors: Tensors,
        name: str,
        config: ConvConfig,
        projections: Projections,
    ) -> None:
        first, second = (
            Convolution.of(
                tensors[f"{name}.conv_in.{index}.weight"],
                tensors[f"{name}.conv_in.{index}.bias"],
                projections,
            )
            for index in (0, 2)
        )
        self._first, self._second = first, second
        self._blocks = [
            Block.of(
                tensors,
                f"{name}.decoder_block.{layer}",
                "weight",
                _DILATION,
                projections,
            )
            for layer in range(config.layers)
        ]

    def __call__(self, frames: Tensor, past: Past, wanted: int) -> Tensor:
        """The first `wanted` frames of what comes out, or as many as there are."""
        narrow = functional.gelu(self._first(frames, past))
        return blocks_run(self._blocks, self._second(narrow, past), past, wanted)


class MelDecoder:
    """Rows of a stream, one a token, to mel frames.

    A row is a hidden state (Decoder), or a vector of the quantiser (DVAE).
    """

    def __init__(
        self,
        tensors: Tensors,
        config: ConvConfig,
        device: torch.device,
        projections: Projections,
        quantizer: Quantizer | None = None,
    ) -> None:
        self.device = device
        self.quantizer = quantizer
        self.row_size = TOKEN_FRAMES * config.idim
        """Numbers in a row; codes are made into such rows first."""
        self._stack = ConvStack(tensors, "decoder", config, projections)
        # `conv_out`, `out_conv` and `coef` are linear and without bias: one convolution.
        last = torch.einsum(
            "mok,oh->mhk", tensors["out_conv.weight"], tensors["decoder.conv_out.weight"][:, :, 0]
        )
        last = last * tensors["coef"].reshape(-1, 1, 1)
        self._last = Convolution.of(last, None, projections)

    @classmethod
    def from_decoder(
        cls, blob: Buffer, config: ModelConfig, device: str, projections: Projections
    ) -> "MelDecoder":
        """From shard "decoder", for hidden states; raises VersionUnavailable."""
        if config.decoder is None:
            raise VersionUnavailable("this version has no Decoder, it speaks by its DVAE")
        tensors = tensors_read(layout.DECODER, blob, layout.decoder_shapes(config.decoder))
        return cls(tensors, config.decoder, torch.device(device), projections)

    @classmethod
    def from_dvae(
        cls, blob: Buffer, config: ModelConfig, device: str, projections: Projections
    ) -> "MelDecoder":
        """From shard "dvae", for audio tokens; raises VersionUnavailable."""
        tensors = tensors_read(layout.DVAE, blob, layout.dvae_shapes(config))
        place = torch.device(device)
        quantizer = Quantizer(tensors, config, place)
        return cls(tensors, config.dvae_decoder, place, projections, quantizer)

    def __call__(self, rows: Tensor, past: Past, wanted: int) -> Tensor:
        """Rows (t, row_size) to the first `wanted` mel frames (2 t at most), (frames, mels).

        The halves of a row are the inputs of two frames, as the original's `forward` splits it.
        """
        frames = rows.reshape(*rows.shape[:-2], -1, rows.shape[-1] // TOKEN_FRAMES)
        return self._last(self._stack(frames, past, wanted + 1), past)[..., :wanted, :]
