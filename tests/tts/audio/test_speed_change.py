"""Tempo changes, pitch stays, and the length is what the speed says."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tts.audio.errors import InvalidSetting
from tts.audio.speed import SpeedChanger

Samples = NDArray[np.float32]
Make = Callable[..., Samples]
RATE = 24_000


def _change(samples: Samples, speed: float, sizes: tuple[int, ...] = (2_400,)) -> Samples:
    changer = SpeedChanger(RATE, speed)
    parts, start, turn = [], 0, 0
    while start < len(samples):
        end = start + sizes[turn % len(sizes)]
        parts.append(changer.process(samples[start:end]))
        start, turn = end, turn + 1
    return np.concatenate([*parts, changer.finish()])


@pytest.mark.parametrize("speed", [0.25, 0.4, 0.5, 0.75, 0.99, 1.25, 2.0, 3.0, 4.0])
def test_length_follows_speed_and_pitch_stays(speed: float, tone: Make) -> None:
    result = _change(tone(440, 2.0), speed)
    assert len(result) == round(2.0 * RATE / speed)
    spectrum = np.abs(np.fft.rfft(result * np.hanning(len(result))))
    peak = np.argmax(spectrum) * RATE / len(result)
    assert peak == pytest.approx(440, rel=0.01)
    near = np.abs(np.arange(len(spectrum)) * RATE / len(result) - 440) < 60
    assert np.sum(spectrum[near] ** 2) / np.sum(spectrum**2) > 0.98


@pytest.mark.parametrize("speed", [0.5, 1.25, 2.0])
def test_loudness_and_its_swell_survive(speed: float, speech_like: Make) -> None:
    source = speech_like(2.0)
    result = _change(source, speed)
    assert _rms(result) == pytest.approx(_rms(source), rel=0.1)
    # The source swells 4 times a second; so must the result, at the new tempo.
    hop = RATE // 100
    envelope = np.sqrt(np.mean(result[: len(result) // hop * hop].reshape(-1, hop) ** 2, axis=1))
    spectrum = np.abs(np.fft.rfft(envelope - envelope.mean(), 4_096))
    assert np.argmax(spectrum) * 100 / 4_096 == pytest.approx(4 * speed, rel=0.1)


def _rms(samples: Samples) -> float:
    return float(np.sqrt(np.mean(np.square(samples, dtype=np.float64))))


@settings(max_examples=15, deadline=None)
@given(
    speed=st.sampled_from([0.25, 0.5, 0.8, 1.3, 2.0, 3.7]),
    length=st.integers(0, 12_000),
    sizes=st.lists(st.integers(1, 3_000), min_size=1, max_size=4).filter(lambda s: sum(s) > 99),
)
def test_cuts_leave_no_trace(speed: float, length: int, sizes: list[int]) -> None:
    t = np.arange(length) / RATE
    source = (0.3 * np.sin(2 * np.pi * 180 * t * (1 + t))).astype(np.float32)
    result = _change(source, speed, tuple(sizes))
    assert len(result) == round(length / speed)
    np.testing.assert_array_equal(result, _change(source, speed, (12_000,)))


def test_speed_one_passes_through_at_once(tone: Make) -> None:
    source = tone(440, 0.01)
    changer = SpeedChanger(RATE, 1.0)
    assert changer.process(source) is source
    assert not len(changer.finish())


@pytest.mark.parametrize("speed", [0.25, 0.5, 1.5, 4.0])
def test_the_first_audio_does_not_wait_long(speed: float, tone: Make) -> None:
    changer = SpeedChanger(RATE, speed)
    source = tone(440, 1.0)
    needed = 0
    while not len(changer.process(source[needed : needed + 240])):
        needed += 240
    assert needed / RATE <= 0.22


def test_the_end_is_not_lost(tone: Make) -> None:
    source = np.concatenate((tone(300, 0.5, level=0.2), tone(300, 0.05, level=0.8)))
    for speed in (0.25, 0.5, 0.9, 1.1, 2.0, 4.0):
        tail = _change(source, speed)[-round(0.05 * RATE / speed) :]
        assert np.abs(tail).max() > 0.6


@pytest.mark.parametrize("speed", [0.0, 0.24, 4.01, -1.0, float("nan"), float("inf")])
def test_speeds_out_of_range_are_refused(speed: float) -> None:
    with pytest.raises(InvalidSetting, match=r"0\.25 to 4\.0"):
        SpeedChanger(RATE, speed)
