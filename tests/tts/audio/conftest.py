"""Signals and a strict decoder for the tests of the audio package."""

import io
from collections.abc import Callable, Iterator

import av
import numpy as np
import pytest
from numpy.typing import NDArray

Samples = NDArray[np.float32]
RATE = 24_000


def _speech_like(seconds: float, rate: int = RATE, level: float = 0.3) -> Samples:
    """A harmonic voice at 140 Hz that swells four times a second, with a little breath."""
    t = np.arange(round(seconds * rate)) / rate
    voice = sum(np.sin(2 * np.pi * 140 * h * t + h) / h for h in range(1, 12))
    breath = np.random.default_rng(7).standard_normal(len(t)) * 0.02
    envelope = 0.55 + 0.45 * np.sin(2 * np.pi * 4 * t)
    wave = (voice / 2.5 + breath) * envelope
    return (level * wave).astype(np.float32)


@pytest.fixture
def speech_like() -> Callable[..., Samples]:
    """Makes `seconds` of a speech-like signal."""
    return _speech_like


@pytest.fixture
def tone() -> Callable[..., Samples]:
    """Makes a sine of `hertz`, `seconds` long."""

    def make(hertz: float, seconds: float, level: float = 0.3, rate: int = RATE) -> Samples:
        t = np.arange(round(seconds * rate)) / rate
        return (level * np.sin(2 * np.pi * hertz * t)).astype(np.float32)

    return make


@pytest.fixture
def decode() -> Callable[[bytes], tuple[Samples, int]]:
    """Decodes a whole body, and fails on anything a strict decoder objects to."""

    def run(body: bytes) -> tuple[Samples, int]:
        strict = {"err_detect": "crccheck+bitstream+buffer+explode"}
        with av.open(io.BytesIO(body), "r", options=strict) as container:
            stream = container.streams.audio[0]
            stream.codec_context.options = strict
            frames = list(container.decode(stream))
        arrays = [_as_float(frame) for frame in frames]
        return np.concatenate(arrays), frames[0].sample_rate

    return run


def _as_float(frame: av.AudioFrame) -> Samples:
    array = frame.to_ndarray().reshape(-1)
    if array.dtype.kind == "i":
        return (array / float(1 << (8 * array.itemsize - 1))).astype(np.float32)
    return array.astype(np.float32)


@pytest.fixture
def cut() -> Callable[[Samples, list[int]], Iterator[Samples]]:
    """Cuts samples into pieces of the given sizes, taken round and round."""

    def pieces(samples: Samples, sizes: list[int]) -> Iterator[Samples]:
        start = turn = 0
        while start < len(samples):
            end = start + sizes[turn % len(sizes)]
            yield samples[start:end]
            start, turn = end, turn + 1

    return pieces
