"""A recording to audio tokens, for voices spoken after a sample: the encoder of ChatTTS' DVAE."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from tts.engines.base import Samples
from tts.engines.chattts import layout
from tts.engines.chattts.backend import Precision
from tts.engines.chattts.compute import tensors_read, torch_threads
from tts.engines.chattts.config import ModelConfig
from tts.engines.chattts.convnext import Convolution, Past
from tts.engines.chattts.mel_decoder import TOKEN_FRAMES, ConvStack
from tts.engines.chattts.projection import TorchProjections
from tts.engines.chattts.quantizer import Quantizer
from tts.engines.chattts.tensor_file import Buffer

_FLOOR = 1e-5
"""Least magnitude of a mel band, before its logarithm is taken."""


class RecordingEncoder:
    """Samples at 24 kHz to codes, in float32, on the CPU: it runs once a voice."""

    def __init__(self, blob: Buffer, config: ModelConfig, threads: int) -> None:
        """Read shard "dvae"; raises VersionUnavailable."""
        tensors = tensors_read(layout.DVAE, blob, layout.dvae_shapes(config))
        cpu = torch.device("cpu")
        projections = TorchProjections(cpu, Precision.FP32, threads)
        self._vocos, self._threads = config.vocos, threads
        self._window = tensors["preprocessor_mel.mel_spec.spectrogram.window"]
        self._filters = tensors["preprocessor_mel.mel_spec.mel_scale.fb"]
        self._coefficients = tensors["coef"].flatten()
        self._first, self._halving = (
            (tensors[f"downsample_conv.{index}.weight"], tensors[f"downsample_conv.{index}.bias"])
            for index in (0, 2)
        )
        self._stack = ConvStack(tensors, "encoder", config.dvae_encoder, projections)
        self._last = Convolution.of(tensors["encoder.conv_out.weight"], None, projections)
        self._quantizer = Quantizer(tensors, config, cpu)

    @property
    def least_samples(self) -> int:
        """The shortest recording that can be encoded: one token's."""
        return max(self._vocos.n_fft // 2, self._vocos.hop) + 1

    def encode(self, samples: Samples) -> NDArray[np.uint16]:
        """Samples (n,) to codes (codebooks, t), t = (n // 256 + 1) // 2.

        Raises ValueError for a recording that is too short, not mono or not finite.
        """
        if samples.ndim != 1 or len(samples) < self.least_samples:
            raise ValueError(
                f"a recording must be mono and at least {self.least_samples} samples,"
                f" not of shape {samples.shape}"
            )
        if not np.isfinite(samples).all():
            raise ValueError("the recording holds values that are not finite")
        with torch.inference_mode(), torch_threads(self._threads):
            mel = self._mel(torch.from_numpy(samples.astype(np.float32)))
            narrow = functional.gelu(functional.conv1d(mel, *self._first, padding=1))
            halved = functional.gelu(
                functional.conv1d(narrow, *self._halving, stride=TOKEN_FRAMES, padding=1)
            )
            frames, past = halved.t(), Past(None, 0)
            vectors = self._last(self._stack(frames, past, len(frames)), past)
            codes = self._quantizer.quantized(vectors)
        return codes.t().contiguous().numpy().astype(np.uint16)

    def _mel(self, samples: Tensor) -> Tensor:
        """Logarithmic mel bands (mels, n // hop + 1), divided by the model's coefficients."""
        spectrum = torch.stft(
            samples,
            self._vocos.n_fft,
            self._vocos.hop,
            window=self._window,
            pad_mode="reflect",
            return_complex=True,
        ).abs()
        bands = self._filters.t() @ spectrum
        return bands.clamp(min=_FLOOR).log() / self._coefficients[:, None]
