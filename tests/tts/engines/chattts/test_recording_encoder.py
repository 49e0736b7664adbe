"""A recording becomes the codes that ChatTTS' DVAE would give it."""

from pathlib import Path

import numpy as np
import pytest
import torch
from vector_quantize_pytorch import FSQ

from tests.tts.engines.chattts.originals import Originals, originals_load
from tests.tts.engines.chattts.vocoder_parts import Parts
from tts.engines.base import Samples
from tts.engines.chattts.config import ModelConfig
from tts.engines.chattts.recording import RecordingEncoder


@pytest.fixture(scope="module")
def parts(chattts_tiny: Path) -> Parts:
    return Parts.read(chattts_tiny)


@pytest.fixture(scope="module")
def encoder(parts: Parts) -> RecordingEncoder:
    return RecordingEncoder(parts.dvae, parts.config, threads=1)


def sweep(length: int) -> Samples:
    """A tone that rises, with some noise: every mel band has its turn."""
    seconds = np.arange(length) / 24_000
    noise = np.random.default_rng(length).standard_normal(length)
    tone = np.sin(2 * np.pi * (100 + 3_000 * seconds) * seconds)
    return (0.3 * tone + 0.02 * noise).astype(np.float32)


@torch.inference_mode()
def original_codes(originals: Originals, config: ModelConfig, samples: Samples) -> torch.Tensor:
    """`DVAE.sample_audio` with the residual arithmetic of vector-quantize-pytorch 1.14.

    That was current when the weights were published: the residual begins bounded, and each is
    (levels - 1) times finer than the one before. Codes (codebooks, t).
    """
    dvae = originals.dvae
    mel = dvae.preprocessor_mel(torch.from_numpy(samples)) / dvae.coef.view(100, 1)
    features = dvae.encoder(dvae.downsample_conv(mel)[None])[0].t()
    fsq = FSQ(list(config.vq_levels))
    levels = torch.tensor(config.vq_levels)
    codes = []
    for group, part in zip(dvae.vq_layer.quantizer.rvqs, features.chunk(2, 1), strict=True):
        residual = torch.tanh(group.project_in(part)) * (levels - 1) * 1.001 / 2
        for index in range(config.vq_residuals):
            scale = (levels - 1.0) ** -index
            quantized, indices = fsq((residual / scale)[None])
            residual = residual - quantized[0] * scale
            codes.append(indices[0])
    return torch.stack(codes)


@pytest.mark.parametrize("length", [513, 1_000, 24_000, 48_123])
def test_codes_as_the_original(
    chattts_tiny: Path, parts: Parts, encoder: RecordingEncoder, length: int
) -> None:
    samples = sweep(length)
    originals = originals_load(chattts_tiny, parts.config)
    expected = original_codes(originals, parts.config, samples).numpy()
    codes = encoder.encode(samples)
    assert codes.dtype == np.uint16
    assert codes.shape == expected.shape == (4, (length // 256 + 1) // 2)
    assert originals.dvae.sample_audio(samples).shape == codes.shape
    # A value halfway between two levels may fall on either side by the order of a sum.
    assert (codes != expected).mean() <= 0.005


def test_codes_are_decoded(parts: Parts, encoder: RecordingEncoder) -> None:
    codes = encoder.encode(sweep(24_000))
    assert len(np.unique(codes)) > 20
    samples = parts.vocoder(codes=True).whole(codes.T.astype(np.int32))
    assert len(samples) == 512 * codes.shape[1] - 256


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        (sweep(512), "at least 513 samples"),
        (np.zeros(0, np.float32), "at least 513 samples"),
        (np.zeros((2, 24_000), np.float32), "mono"),
        (np.full(24_000, np.nan, np.float32), "not finite"),
    ],
)
def test_bad_recordings(encoder: RecordingEncoder, samples: Samples, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        encoder.encode(samples)
