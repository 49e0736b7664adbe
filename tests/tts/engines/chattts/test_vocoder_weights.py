"""Weights that are not what they should be are refused, and the tensor is named."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.numpy import load, save

from tests.tts.engines.chattts.vocoder_parts import Parts
from tts.engine.errors import VersionUnavailable
from tts.engines.chattts.backend import Precision
from tts.engines.chattts.mel_decoder import MelDecoder
from tts.engines.chattts.projection import TorchProjections
from tts.engines.chattts.recording import RecordingEncoder
from tts.engines.chattts.vocos import Vocos

Build = Callable[[bytes], object]


def builders(parts: Parts) -> dict[str, tuple[bytes, Build, str]]:
    """What each file is read by, and a tensor of it."""
    config, plain = parts.config, TorchProjections(torch.device("cpu"), Precision.FP32, 1)
    return {
        "Decoder": (
            parts.decoder,
            lambda blob: MelDecoder.from_decoder(blob, config, "cpu", plain),
            "out_conv.weight",
        ),
        "DVAE": (
            parts.dvae,
            lambda blob: MelDecoder.from_dvae(blob, config, "cpu", plain),
            "vq_layer.quantizer.rvqs.1.project_out.bias",
        ),
        "encoder": (
            parts.dvae,
            lambda blob: RecordingEncoder(blob, config, 1),
            "downsample_conv.2.bias",
        ),
        "Vocos": (
            parts.vocos,
            lambda blob: Vocos(blob, config.vocos, "cpu", plain, plain),
            "backbone.convnext.1.gamma",
        ),
    }


@pytest.fixture(params=["Decoder", "DVAE", "encoder", "Vocos"])
def subject(request: pytest.FixtureRequest, chattts_tiny: Path) -> tuple[bytes, Build, str]:
    return builders(Parts.read(chattts_tiny))[request.param]


def changed(blob: bytes, name: str, values: NDArray[np.float32] | None) -> bytes:
    tensors = load(blob)
    del tensors[name]
    return save(tensors if values is None else {**tensors, name: values})


def test_whole_file_is_read(subject: tuple[bytes, Build, str]) -> None:
    blob, build, _ = subject
    assert build(blob) is not None


def test_missing_tensor(subject: tuple[bytes, Build, str]) -> None:
    blob, build, name = subject
    with pytest.raises(VersionUnavailable, match=name):
        build(changed(blob, name, None))


def test_wrong_shape(subject: tuple[bytes, Build, str]) -> None:
    blob, build, name = subject
    with pytest.raises(VersionUnavailable, match=name):
        build(changed(blob, name, np.zeros((3, 5), np.float32)))


def test_not_finite(subject: tuple[bytes, Build, str]) -> None:
    blob, build, name = subject
    values = load(blob)[name].copy()
    values.flat[-1] = np.nan
    with pytest.raises(VersionUnavailable, match=name):
        build(changed(blob, name, values))


def test_tensor_of_another_model(subject: tuple[bytes, Build, str]) -> None:
    blob, build, _ = subject
    with pytest.raises(VersionUnavailable, match="stranger"):
        build(save({**load(blob), "stranger": np.zeros(3, np.float32)}))


@pytest.mark.parametrize("length", [0, 7, 1_000, -1])
def test_truncated(subject: tuple[bytes, Build, str], length: int) -> None:
    blob, build, _ = subject
    with pytest.raises(VersionUnavailable):
        build(blob[:length])
