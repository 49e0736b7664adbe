"""Loudness after ITU-R BS.1770-4, and the fixed gain that levels a voice."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from tts.audio.errors import InvalidSetting, SilentAudio
from tts.audio.pcm import Samples, as_samples

TARGET_LUFS = -20.0
"""Where every voice is levelled to."""

MAX_GAIN_DB = 24.0

_BLOCK_SECONDS = 0.4
_STEPS_PER_BLOCK = 4  # blocks overlap by 75 %
_ABSOLUTE_GATE = -70.0
_RELATIVE_GATE = -10.0
_OFFSET = -0.691

_Doubles = NDArray[np.float64]


def loudness_lufs(samples: Samples, rate: int) -> float:
    """Gated loudness of mono audio in LUFS; raises SilentAudio, InvalidSamples.

    Audio under 0.4 s, or all of it under the absolute gate, has no gated blocks:
    then it is the K-weighted RMS of the whole.
    """
    samples = as_samples(samples)
    if rate < 1:
        raise InvalidSetting(f"a sample rate must be positive, not {rate} Hz")
    if not samples.any():
        raise SilentAudio("silence has no loudness")
    energy = np.square(_k_weighted(samples, rate))
    blocks = _block_energies(energy, rate)
    gated = blocks[_level(blocks) > _ABSOLUTE_GATE]
    if not len(gated):
        return float(_level(energy.mean()))
    gated = gated[_level(gated) > float(_level(gated.mean())) + _RELATIVE_GATE]
    return float(_level(gated.mean()))


def fixed_gain_db(samples: Samples, rate: int, target_lufs: float = TARGET_LUFS) -> float:
    """The gain in dB that brings `samples` to `target_lufs`, held within 24 dB.

    Raises SilentAudio: no gain follows from silence.
    """
    gain = target_lufs - loudness_lufs(samples, rate)
    return float(np.clip(gain, -MAX_GAIN_DB, MAX_GAIN_DB))


def linear_gain(gain_db: float) -> float:
    """The factor that a gain in dB stands for."""
    return float(10.0 ** (gain_db / 20.0))


def _level(energy: _Doubles | np.float64) -> _Doubles:
    """Mean square to LUFS; nothing at all is -inf."""
    with np.errstate(divide="ignore"):
        return np.asarray(_OFFSET + 10.0 * np.log10(energy))


def _block_energies(energy: _Doubles, rate: int) -> _Doubles:
    """Mean squares of blocks of 0.4 s, one each 0.1 s."""
    step = max(1, round(_BLOCK_SECONDS / _STEPS_PER_BLOCK * rate))
    steps = energy[: len(energy) // step * step].reshape(-1, step).mean(axis=1)
    if len(steps) < _STEPS_PER_BLOCK:
        return np.zeros(0)
    return np.asarray(sliding_window_view(steps, _STEPS_PER_BLOCK).mean(axis=1))


def _k_weighted(samples: Samples, rate: int) -> _Doubles:
    """Both filters of the standard, applied in the frequency domain.

    A second of zeros behind the audio keeps the impulse response (a 38 Hz
    high-pass, gone after 0.2 s) from wrapping around.
    """
    size = 1 << (len(samples) + rate - 1).bit_length()
    z = np.exp(-2j * np.pi * np.fft.rfftfreq(size))
    response = np.ones(len(z), dtype=np.complex128)
    for numerator, denominator in (_shelf(rate), _high_pass(rate)):
        response *= np.polyval(numerator[::-1], z) / np.polyval(denominator[::-1], z)
    filtered = np.fft.irfft(np.fft.rfft(samples.astype(np.float64), size) * response, size)
    return np.asarray(filtered[: len(samples)])


def _shelf(rate: int) -> tuple[list[float], list[float]]:
    """The head filter. The standard lists 48 kHz only; its analogue prototype is libebur128's."""
    k = float(np.tan(np.pi * 1681.974450955533 / rate))
    q = 0.7071752369554196
    high = 10.0 ** (3.999843853973347 / 20.0)
    band = high**0.4996667741545416
    a0 = 1.0 + k / q + k * k
    numerator = [
        (high + band * k / q + k * k) / a0,
        2.0 * (k * k - high) / a0,
        (high - band * k / q + k * k) / a0,
    ]
    return numerator, [1.0, 2.0 * (k * k - 1.0) / a0, (1.0 - k / q + k * k) / a0]


def _high_pass(rate: int) -> tuple[list[float], list[float]]:
    """The low-frequency roll-off, from the same prototype."""
    k = float(np.tan(np.pi * 38.13547087602444 / rate))
    q = 0.5003270373238773
    a0 = 1.0 + k / q + k * k
    return [1.0, -2.0, 1.0], [1.0, 2.0 * (k * k - 1.0) / a0, (1.0 - k / q + k * k) / a0]
