"""Samples become bytes without wrapping, and frames of whole samples."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tts.audio.errors import InvalidSamples, InvalidSetting
from tts.audio.pcm import FrameSplitter, as_samples, from_s16le, scaled_length, to_s16le


def test_bytes_and_numbers_are_inverse_to_each_other() -> None:
    pcm = np.arange(-32_768, 32_768, dtype="<i2").tobytes()
    assert to_s16le(from_s16le(pcm)) == pcm


def test_what_exceeds_full_scale_is_held_and_not_wrapped() -> None:
    loud = np.array([1.0, 1.3, 1e9, -1.0, -1.3, -1e9], dtype=np.float32)
    values = np.frombuffer(to_s16le(loud), dtype="<i2")
    assert values.tolist() == [32_767, 32_767, 32_767, -32_768, -32_768, -32_768]


def test_numbers_are_rounded_to_nearest() -> None:
    steps = np.array([0.4, 0.6, -0.4, -0.6], dtype=np.float32) / np.float32(32_768)
    assert np.frombuffer(to_s16le(steps), dtype="<i2").tolist() == [0, 1, 0, -1]


def test_half_a_sample_is_refused() -> None:
    with pytest.raises(InvalidSamples, match="3 bytes"):
        from_s16le(b"\0\0\0")


@pytest.mark.parametrize(
    "samples",
    [
        np.array([0.0, np.nan], dtype=np.float32),
        np.array([np.inf], dtype=np.float32),
        np.zeros((2, 3), dtype=np.float32),
        np.zeros(3, dtype=np.int16),
    ],
)
def test_audio_that_would_poison_a_filter_is_refused(samples: np.ndarray) -> None:
    with pytest.raises(InvalidSamples):
        as_samples(samples)


@pytest.mark.parametrize(("taken", "given_out"), [(1, 2), (3, 6), (441, 882), (0, 0)])
def test_scaled_length_is_exact(taken: int, given_out: int) -> None:
    assert scaled_length(taken, 48_000, 24_000) == given_out


@settings(max_examples=60, deadline=None)
@given(
    rate=st.sampled_from([8_000, 11_025, 24_000, 44_100, 48_000]),
    sizes=st.lists(st.integers(0, 20_000), max_size=12),
)
def test_frames_are_whole_short_and_lose_nothing(rate: int, sizes: list[int]) -> None:
    splitter = FrameSplitter(rate)
    data = np.random.default_rng(1).bytes(sum(sizes) - sum(sizes) % 2)
    frames: list[bytes] = []
    start = 0
    for size in sizes:
        frames += splitter.push(data[start : start + size])
        start += size
    last = splitter.finish()
    assert b"".join(frames + last) == data
    for frame in frames:
        assert len(frame) % 2 == 0
        assert rate * 20 // 1_000 <= len(frame) // 2 <= rate * 100 // 1_000
        assert len(frame) <= 65_536
    assert all(len(frame) // 2 * 1_000 / rate < 20 for frame in last)


def test_a_frame_never_exceeds_64_kib() -> None:
    frames = FrameSplitter(48_000, 20, 5_000).push(bytes(400_000))
    assert max(map(len, frames)) <= 65_536
    assert sum(map(len, frames)) == 400_000


def test_a_stream_that_ends_inside_a_sample_is_reported() -> None:
    splitter = FrameSplitter(24_000)
    splitter.push(b"\0\0\0")
    with pytest.raises(InvalidSamples, match="middle of a sample"):
        splitter.finish()


def test_frame_lengths_that_cannot_be_kept_are_refused() -> None:
    with pytest.raises(InvalidSetting):
        FrameSplitter(24_000, min_ms=60, max_ms=100)
