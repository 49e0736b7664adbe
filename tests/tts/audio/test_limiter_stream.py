"""Nothing leaves above the ceiling, and nothing below it is touched."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tts.audio.errors import InvalidSetting
from tts.audio.limiter import CEILING, Limiter

Samples = NDArray[np.float32]
Make = Callable[..., Samples]
RATE = 24_000


def _limit(samples: Samples, sizes: tuple[int, ...] = (2_400,)) -> tuple[Samples, Limiter]:
    limiter = Limiter(RATE)
    parts, start, turn = [], 0, 0
    while start < len(samples):
        end = start + sizes[turn % len(sizes)]
        parts.append(limiter.process(samples[start:end]))
        start, turn = end, turn + 1
    return np.concatenate([*parts, limiter.finish()]), limiter


def test_quiet_audio_comes_out_bit_for_bit(speech_like: Make) -> None:
    source = speech_like(0.5, level=0.6)
    result, limiter = _limit(source)
    np.testing.assert_array_equal(result, source)
    assert limiter.limited == 0
    assert limiter.peak == pytest.approx(float(np.abs(source).max()))


@pytest.mark.parametrize("level", [1.0, 1.3, 4.0])
def test_loud_audio_stays_below_the_ceiling(level: float, tone: Make) -> None:
    source = tone(200, 0.5, level=level)
    result, limiter = _limit(source)
    assert len(result) == len(source)
    assert np.abs(result).max() <= np.float32(CEILING)
    assert limiter.peak == pytest.approx(CEILING, rel=1e-3)
    assert limiter.limited == np.count_nonzero(np.abs(source) > CEILING)


def test_a_held_tone_is_turned_down_and_not_bent(tone: Make) -> None:
    source = tone(200, 1.0, level=1.3)
    result = _limit(source)[0][RATE // 2 :]
    spectrum = np.abs(np.fft.rfft(result * np.hanning(len(result))))
    fundamental = spectrum[90:111].max()
    harmonic = max(spectrum[100 * h - 10 : 100 * h + 11].max() for h in (2, 3, 4, 5))
    assert 20 * np.log10(harmonic / fundamental) < -40


def test_audio_away_from_a_peak_is_untouched(tone: Make) -> None:
    source = tone(300, 1.0, level=0.5)
    source[RATE // 2] = 1.5
    result = _limit(source)[0]
    before, after = RATE // 2 - 2 * 96 - 1, RATE // 2 + RATE // 5
    np.testing.assert_array_equal(result[:before], source[:before])
    np.testing.assert_array_equal(result[after:], source[after:])


@pytest.mark.parametrize("place", [0, 1, -1, -2])
def test_peaks_at_the_very_ends_are_held(place: int) -> None:
    source = np.zeros(1_000, dtype=np.float32)
    source[place] = -2.0
    result, _ = _limit(source, (333,))
    assert np.abs(result).max() <= np.float32(CEILING)
    assert result[place] == pytest.approx(-CEILING, rel=1e-3)


def test_the_delay_is_at_most_5_ms(tone: Make) -> None:
    limiter = Limiter(RATE)
    assert limiter.delay <= RATE * 5 // 1_000
    assert len(limiter.process(tone(440, 0.02))) == RATE // 50 - limiter.delay
    assert len(limiter.finish()) == limiter.delay
    assert not len(limiter.finish())


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 1_000),
    length=st.integers(0, 5_000),
    sizes=st.lists(st.integers(1, 2_000), min_size=1, max_size=5),
)
def test_cuts_leave_no_trace(seed: int, length: int, sizes: list[int]) -> None:
    random = np.random.default_rng(seed)
    swell = np.interp(np.arange(length), [0, 2_500, 5_000], [0.2, 1.0, 0.1])
    source = (random.standard_normal(length) * swell).astype(np.float32)
    result, limiter = _limit(source, tuple(sizes))
    whole, reference = _limit(source, (max(1, length),))
    assert len(result) == length
    np.testing.assert_array_equal(result, whole)
    assert (limiter.peak, limiter.limited) == (reference.peak, reference.limited)
    assert not length or np.abs(result).max() <= np.float32(CEILING)


def test_impossible_ceilings_are_refused() -> None:
    with pytest.raises(InvalidSetting):
        Limiter(RATE, ceiling=1.5)
    with pytest.raises(InvalidSetting):
        Limiter(0)
