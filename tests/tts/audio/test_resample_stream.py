"""Resampling keeps time, length and spectrum, however the stream is cut."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tts.audio.errors import InvalidSetting
from tts.audio.pcm import scaled_length
from tts.audio.resample import StreamResampler

Samples = NDArray[np.float32]
Make = Callable[..., Samples]
Cut = Callable[[Samples, list[int]], Iterator[Samples]]
RATE = 24_000
RATES = [8_000, 11_025, 16_000, 22_050, 44_100, 48_000]


def _resample(samples: Samples, target: int, pieces: Iterator[Samples]) -> Samples:
    resampler = StreamResampler(RATE, target)
    parts = [resampler.process(piece) for piece in pieces]
    return np.concatenate([*parts, resampler.finish()])


@pytest.mark.parametrize("target", RATES)
def test_a_tone_stays_the_same_tone(target: int, tone: Make, cut: Cut) -> None:
    source = tone(1_000, 1.0)
    result = _resample(source, target, cut(source, [2_400]))
    ideal = tone(1_000, 1.0, rate=target)
    assert len(result) == len(ideal)
    inner = slice(target // 50, -target // 50)
    error = result[inner] - ideal[inner]
    snr = 10 * np.log10(np.mean(ideal[inner] ** 2) / np.mean(error**2))
    assert snr > 60


@pytest.mark.parametrize("target", [8_000, 16_000])
def test_what_the_new_rate_cannot_hold_does_not_fold_back(
    target: int, tone: Make, cut: Cut
) -> None:
    source = tone(target / 2 * 1.2, 1.0)
    result = _resample(source, target, cut(source, [4_000]))
    inner = result[target // 20 : -target // 20]
    assert 20 * np.log10(np.sqrt(np.mean(inner**2)) / 0.21) < -50


@settings(max_examples=40, deadline=None)
@given(
    length=st.integers(0, 9_000),
    target=st.sampled_from(RATES),
    sizes=st.lists(st.integers(1, 3_000), min_size=1, max_size=4).filter(lambda s: sum(s) > 99),
)
def test_the_length_is_exact_and_cuts_leave_no_trace(
    length: int, target: int, sizes: list[int]
) -> None:
    source = (0.5 * np.random.default_rng(length).standard_normal(length)).astype(np.float32)
    resampler = StreamResampler(RATE, target)
    parts, start, turn = [], 0, 0
    while start < length:
        end = start + sizes[turn % len(sizes)]
        parts.append(resampler.process(source[start:end]))
        start, turn = end, turn + 1
    result = np.concatenate([*parts, resampler.finish()])
    assert len(result) == scaled_length(length, target, RATE)
    if length:
        np.testing.assert_array_equal(result, _resample(source, target, iter([source])))


def test_equal_rates_pass_through(tone: Make) -> None:
    source = tone(440, 0.1)
    resampler = StreamResampler(RATE, RATE)
    assert resampler.process(source) is source
    assert not len(resampler.finish())


def test_impossible_rates_are_refused() -> None:
    with pytest.raises(InvalidSetting):
        StreamResampler(RATE, 0)
