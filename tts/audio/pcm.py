"""Samples as numbers and as bytes: float32 of -1.0 to 1.0, and mono s16le."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tts.audio.errors import InvalidSamples, InvalidSetting

Samples = NDArray[np.float32]
Pcm16 = NDArray[np.int16]

SAMPLE_BYTES = 2
MAX_FRAME_BYTES = 65_536

_SCALE = 32_768.0


def empty() -> Samples:
    """No samples."""
    return np.zeros(0, dtype=np.float32)


def as_samples(samples: Samples) -> Samples:
    """`samples` as contiguous float32 of shape (n,); raises InvalidSamples.

    Not-a-number and infinities are refused here: behind this point they would
    poison the state of every filter they reach.
    """
    if samples.ndim != 1:
        raise InvalidSamples(f"audio must be mono, of shape (n,), not {samples.shape}")
    if samples.dtype.kind != "f":
        raise InvalidSamples(f"audio must be floating point, not {samples.dtype}")
    if not np.isfinite(samples).all():
        raise InvalidSamples("audio holds values that are not finite")
    return np.ascontiguousarray(samples, dtype=np.float32)


def to_s16le(samples: Samples) -> bytes:
    """Float to s16le bytes, rounded to nearest; what exceeds full scale is held, never wrapped."""
    scaled = np.rint(samples.astype(np.float64) * _SCALE)
    return np.clip(scaled, -32_768, 32_767).astype("<i2").tobytes()


def from_s16le(pcm: bytes) -> Samples:
    """s16le bytes to float32; the exact inverse of `to_s16le`. Raises InvalidSamples."""
    return (s16_array(pcm).astype(np.float32)) / np.float32(_SCALE)


def s16_array(pcm: bytes) -> Pcm16:
    """A read-only int16 view of s16le bytes; raises InvalidSamples on half a sample."""
    if len(pcm) % SAMPLE_BYTES:
        raise InvalidSamples(f"s16le audio must be whole samples, not {len(pcm)} bytes")
    return np.frombuffer(pcm, dtype="<i2")


def scaled_length(samples: int, numerator: int, denominator: int) -> int:
    """`samples * numerator / denominator`, rounded half up, in exact arithmetic."""
    return (2 * samples * numerator + denominator) // (2 * denominator)


class FrameSplitter:
    """Cuts a stream of s16le bytes into frames fit for sending.

    Each frame is whole samples, `min_ms` to `max_ms` long and at most 64 KiB; only
    the last one, from `finish`, may be shorter. At least `min_ms` of audio is never
    held back. `max_ms` must be at least twice `min_ms`, so that any length can be
    cut without a remainder.
    """

    def __init__(self, rate: int, min_ms: int = 20, max_ms: int = 100) -> None:
        if rate < 1 or min_ms < 1 or max_ms < 2 * min_ms:
            raise InvalidSetting(
                f"frames need a rate of at least 1 Hz and 1 <= min_ms <= max_ms / 2,"
                f" not {rate} Hz, {min_ms} and {max_ms} ms"
            )
        self._shortest = max(1, rate * min_ms // 1_000) * SAMPLE_BYTES
        longest = max(2, rate * max_ms // 1_000) * SAMPLE_BYTES
        self._longest = min(longest, MAX_FRAME_BYTES)
        self._held = b""

    def push(self, pcm: bytes) -> list[bytes]:
        """The frames that `pcm` completes; the bytes need not be whole samples here."""
        data = self._held + pcm
        whole = len(data) - len(data) % SAMPLE_BYTES
        if whole < self._shortest:
            self._held = data
            return []
        self._held = data[whole:]
        return self._cut(data[:whole])

    def finish(self) -> list[bytes]:
        """What was held, as a last short frame; raises InvalidSamples on half a sample."""
        held, self._held = self._held, b""
        if len(held) % SAMPLE_BYTES:
            raise InvalidSamples("the stream ended in the middle of a sample")
        return [held] if held else []

    def _cut(self, data: bytes) -> list[bytes]:
        """Nearly equal frames: equal shares of a long piece are never too short."""
        samples = len(data) // SAMPLE_BYTES
        pieces = -(-len(data) // self._longest)
        borders = [samples * i // pieces * SAMPLE_BYTES for i in range(pieces + 1)]
        return [data[start:end] for start, end in pairwise(borders)]
