"""Speakers written as ChatTTS writes them, for what reads them."""

import lzma

import numpy as np
import pybase16384
from numpy.typing import NDArray

from tts.engines.chattts.speaker import embedding_bytes, sample_bytes

_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME}]


def wrapped(content: bytes, header: bytes = b"") -> str:
    """A string of any content."""
    packed = lzma.compress(content, format=lzma.FORMAT_RAW, filters=_FILTERS)
    return str(pybase16384.encode_to_string(header + packed))


def embedding_encode(vector: NDArray[np.float32]) -> str:
    """The `spk_emb` string of a vector (h,)."""
    return wrapped(embedding_bytes(vector))


def sample_encode(codes: NDArray[np.integer]) -> str:
    """The `spk_smp` string of audio tokens (codebooks, t)."""
    return wrapped(sample_bytes(codes), np.array(codes.shape, "<u2").tobytes())
