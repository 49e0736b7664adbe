"""Mel frames to samples: vocos' backbone and its inverse short-time Fourier transform."""

import torch
from torch import Tensor
from torch.nn import functional

from tts.engine.errors import VersionUnavailable
from tts.engines.chattts import layout
from tts.engines.chattts.compute import tensors_read
from tts.engines.chattts.config import VocosConfig
from tts.engines.chattts.convnext import Block, Convolution, Past, blocks_run
from tts.engines.chattts.projection import Projections
from tts.engines.chattts.tensor_file import Buffer

_NORM_EPSILON = 1e-6
_MOST_MAGNITUDE = 100.0
_SCALE = "gamma"
_LEAST_WEIGHT = 1e-11
"""As in torch.istft."""


class Vocos:
    """A stream's mel frames to its samples. `head_projections` are float32 in every precision.

    Sample `hop * f` is the middle of frame f, so n frames give hop * (n - 1) samples.
    """

    def __init__(
        self,
        blob: Buffer,
        config: VocosConfig,
        device: str,
        projections: Projections,
        head_projections: Projections,
    ) -> None:
        """Read shard "vocos"; raises VersionUnavailable."""
        tensors = tensors_read(layout.VOCOS, blob, layout.vocos_shapes(config))
        place = torch.device(device)
        self._config = config
        self._embed = Convolution.of(
            tensors["backbone.embed.weight"], tensors["backbone.embed.bias"], projections
        )
        self._gain = tensors["backbone.norm.weight"].to(place)
        self._shift = tensors["backbone.norm.bias"].to(place)
        self._blocks = [
            Block.of(tensors, f"backbone.convnext.{layer}", _SCALE, 1, projections)
            for layer in range(config.layers)
        ]
        last, shift = (tensors[f"backbone.final_layer_norm.{name}"] for name in ("weight", "bias"))
        head = tensors["head.out.weight"]
        self._head = head_projections.add(head * last, tensors["head.out.bias"] + head @ shift)
        window = tensors["head.istft.window"]
        self.overlap = config.n_fft // config.hop
        """Frames that a sample is the sum of."""
        self._check_window(window)
        self._window = window.to(place)
        self.margin = self._embed.width // 2 + sum(block.margin for block in self._blocks)
        """Mel frames that it sees behind the last frame it transforms."""

    def __call__(self, mel: Tensor, past: Past, wanted: int, samples: int) -> Tensor:
        """Mel (t, mels) of a window to its first `samples`, from the first `wanted` frames."""
        frames = self._embed(mel, past)
        frames = functional.layer_norm(
            frames, frames.shape[-1:], self._gain, self._shift, _NORM_EPSILON
        )
        frames = blocks_run(self._blocks, frames, past, wanted)
        frames = functional.layer_norm(frames, frames.shape[-1:], eps=_NORM_EPSILON)
        spectrum = self._head(frames)
        bins = self._config.n_fft // 2 + 1
        loudness = torch.exp(spectrum[..., :bins]).clamp(max=_MOST_MAGNITUDE)
        waves = torch.fft.irfft(torch.polar(loudness, spectrum[..., bins:]), self._config.n_fft)
        return self._added(waves * self._window, past, samples)

    def _check_window(self, window: Tensor) -> None:
        """Samples are divided by the windows over them: at least the two nearest ones."""
        parts = window.square().view(self.overlap, self._config.hop)
        middle = self.overlap // 2
        weight = float((parts[middle - 1] + parts[middle]).min())
        if not weight > _LEAST_WEIGHT:
            raise VersionUnavailable(
                f"{layout.VOCOS}: the squares of tensor 'head.istft.window' that lie over a sample"
                f" add up to {weight:g}, more than {_LEAST_WEIGHT:g} is allowed"
            )

    def _added(self, waves: Tensor, past: Past, samples: int) -> Tensor:
        """Waves (t, n_fft), one a hop, added where they overlap and divided by their windows.

        A window's first sample is the middle of its first wave; half the overlap before that
        one reaches beyond it. At a stream's start there is nothing to reach.
        """
        before = self.overlap // 2 - 1
        whole = past.extended(waves, before, 0)
        weights = self._window.square().repeat(whole.shape[-2], 1)
        if not past.started:
            weights[:before] = 0.0
        start = before * self._config.hop + self._config.n_fft // 2
        total, weight = (
            self._laid(rows)[..., start : start + samples] for rows in (whole, weights)
        )
        return total / weight

    def _laid(self, rows: Tensor) -> Tensor:
        """Rows (t, n_fft) laid over each other, one hop apart."""
        hop = self._config.hop
        *stacked, count, _ = rows.shape
        laid = rows.new_zeros(*stacked, count + self.overlap - 1, hop)
        for part in range(self.overlap):
            laid[..., part : part + count, :] += rows[..., part * hop : (part + 1) * hop]
        return laid.flatten(-2)
