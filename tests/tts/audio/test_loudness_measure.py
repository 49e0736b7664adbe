"""Loudness agrees with the standard and with an independent meter."""

from collections.abc import Callable
from fractions import Fraction

import av
import numpy as np
import pytest
from av.filter import Graph
from numpy.typing import NDArray

from tts.audio.errors import InvalidSamples, InvalidSetting, SilentAudio
from tts.audio.loudness import TARGET_LUFS, fixed_gain_db, linear_gain, loudness_lufs

Samples = NDArray[np.float32]
Make = Callable[..., Samples]
RATE = 24_000


@pytest.mark.parametrize("rate", [16_000, 24_000, 44_100, 48_000])
def test_a_full_scale_sine_of_997_hz_is_minus_3_01(rate: int, tone: Make) -> None:
    # ITU-R BS.1770-4, annex 1: the calibration point of the algorithm.
    assert loudness_lufs(tone(997, 3.0, level=1.0, rate=rate), rate) == pytest.approx(
        -3.01, abs=0.05
    )


def _ebur128(samples: Samples, rate: int) -> float:
    """Integrated loudness by libavfilter's own meter (it resamples to 48 kHz)."""
    graph = Graph()
    source = graph.add_abuffer(
        sample_rate=rate, format="flt", layout="mono", time_base=Fraction(1, rate)
    )
    meter = graph.add("ebur128", "metadata=1")
    sink = graph.add("abuffersink")
    source.link_to(meter)
    meter.link_to(sink)
    graph.configure()
    frame = av.AudioFrame.from_ndarray(samples[None, :], format="flt", layout="mono")
    frame.sample_rate, frame.pts = rate, 0
    graph.push(frame)
    graph.push(None)
    reading = ""
    while True:
        try:
            reading = graph.pull().metadata.get("lavfi.r128.I", reading)
        except (av.BlockingIOError, av.EOFError):
            return float(reading)


def test_an_independent_meter_agrees_gates_included(speech_like: Make) -> None:
    quiet = speech_like(3.0, level=0.003)
    audio = np.concatenate((speech_like(3.0), np.zeros(RATE, dtype=np.float32), quiet))
    assert loudness_lufs(audio, RATE) == pytest.approx(_ebur128(audio, RATE), abs=0.2)


def test_pauses_do_not_make_a_voice_quieter(speech_like: Make) -> None:
    speech = speech_like(2.0)
    paused = np.concatenate((speech, np.zeros(5 * RATE, dtype=np.float32)))
    assert loudness_lufs(paused, RATE) == pytest.approx(loudness_lufs(speech, RATE), abs=0.6)


@pytest.mark.parametrize("seconds", [0.001, 0.1, 0.39])
def test_audio_under_one_block_has_a_loudness_too(seconds: float, tone: Make) -> None:
    short = loudness_lufs(tone(997, seconds, level=0.5), RATE)
    assert short == pytest.approx(-9.03, abs=0.1 if seconds > 0.05 else 6.0)


@pytest.mark.parametrize("level", [0.05, 0.2, 0.9])
def test_the_gain_brings_a_voice_to_the_target(level: float, speech_like: Make) -> None:
    speech = speech_like(2.0, level=level)
    gain = linear_gain(fixed_gain_db(speech, RATE))
    assert loudness_lufs((speech * gain).astype(np.float32), RATE) == pytest.approx(
        TARGET_LUFS, abs=0.05
    )


def test_gains_are_held_within_reason(tone: Make) -> None:
    assert fixed_gain_db(tone(440, 1.0, level=1e-4), RATE) == 24.0


def test_silence_has_no_loudness() -> None:
    with pytest.raises(SilentAudio):
        fixed_gain_db(np.zeros(RATE, dtype=np.float32), RATE)
    with pytest.raises(SilentAudio):
        loudness_lufs(np.zeros(0, dtype=np.float32), RATE)


def test_bad_input_is_refused(tone: Make) -> None:
    with pytest.raises(InvalidSamples):
        loudness_lufs(np.array([np.nan], dtype=np.float32), RATE)
    with pytest.raises(InvalidSetting):
        loudness_lufs(tone(440, 0.1), 0)
