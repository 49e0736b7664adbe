"""Faults that can be measured in a take of a text, and which of several takes has least.

Every measure is turned into a severity, 0.0 up to its harmless value, 1.0 at its bad value and
linear between and beyond, and a take's score is the sum:

| fault            | measure                                                | harmless | bad  |
| ---------------- | ------------------------------------------------------ | -------- | ---- |
| too short, long  | ln(sounding seconds / expected seconds), either sign   | ln 1.3   | ln 2 |
| leading silence  | seconds before the first sounding frame                | 0.3      | 1.0  |
| inner silence    | longest silence between two sounding frames, seconds   | 0.7      | 2.0  |
| trailing silence | seconds after the last sounding frame                  | 0.5      | 2.0  |
| clipping         | share of samples in flat tops                          | 0.0001   | 0.01 |
| repetition       | share of sounding time that comes again                | 0.25     | 0.6  |
| noise            | spectral flatness, weighted by energy                  | 0.03     | 0.2  |

Spectral flatness is the geometric over the arithmetic mean of a power spectrum (Gray and Markel
1974): near 0 for voices, 0.56 for white noise. Repetition is read off the self-similarity of
mel band envelopes (Foote 1999) along diagonals, which are sounds that come again in the same
order; a held sound counts too. It was set on 15 clips of 3 to 10 s by the bundled voices in English
and Chinese (`manage.py say`): the ten whose texts repeat nothing have 0.0 at any correlation from
0.7 on, the five that say a phrase again at least 0.97 at any up to 0.9. With the clips' own length
as the expected one, the ten score 0.0.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from tts.audio.errors import InvalidSetting
from tts.audio.pcm import Samples, as_samples

_FRAME, _HOP = 0.04, 0.02
"""Seconds of a frame, and from one to the next."""
_BANDS, _LOWEST_HZ, _HIGHEST_HZ = 20, 100.0, 8_000.0
_FLOOR = 1e-9
_BELOW_LOUD_DB, _SILENT_DB = 40.0, -60.0
"""A frame sounds if it is so near the loud ones, and above this level (dBFS)."""
_FULL_SCALE, _FLAT_TOP = 0.999, 3
_PHRASE, _SHORTEST_LAG, _LONGEST_LAG = 0.5, 0.24, 10.0
"""Seconds that must come again to count, and after what time."""
_ALIKE = 0.75
"""Mean correlation of band envelopes over a phrase that comes again."""
_SHORTEST_RATE = 8_000
_MOST_LENGTH = math.log(100.0)

_Floats = NDArray[np.float64]


class Fault(StrEnum):
    """What can be wrong with a take."""

    TOO_SHORT = "too_short"
    TOO_LONG = "too_long"
    LEADING_SILENCE = "leading_silence"
    INNER_SILENCE = "inner_silence"
    TRAILING_SILENCE = "trailing_silence"
    CLIPPING = "clipping"
    REPETITION = "repetition"
    NOISE = "noise"


_LIMITS = {
    Fault.TOO_SHORT: (math.log(1.3), math.log(2.0)),
    Fault.TOO_LONG: (math.log(1.3), math.log(2.0)),
    Fault.LEADING_SILENCE: (0.3, 1.0),
    Fault.INNER_SILENCE: (0.7, 2.0),
    Fault.TRAILING_SILENCE: (0.5, 2.0),
    Fault.CLIPPING: (0.0001, 0.01),
    Fault.REPETITION: (0.25, 0.6),
    Fault.NOISE: (0.03, 0.2),
}


@dataclass(frozen=True, slots=True)
class TakeFaults:
    """The measures of one take, in the units of this module's table."""

    length: float
    """ln(sounding / expected), at most ln 100 either way."""
    leading_silence: float
    inner_silence: float
    trailing_silence: float
    clipping: float
    repetition: float
    noise: float

    @property
    def severities(self) -> dict[Fault, float]:
        """Each fault's severity: 0.0 harmless, 1.0 bad, more is worse."""
        measures = {
            Fault.TOO_SHORT: -self.length,
            Fault.TOO_LONG: self.length,
            Fault.LEADING_SILENCE: self.leading_silence,
            Fault.INNER_SILENCE: self.inner_silence,
            Fault.TRAILING_SILENCE: self.trailing_silence,
            Fault.CLIPPING: self.clipping,
            Fault.REPETITION: self.repetition,
            Fault.NOISE: self.noise,
        }
        return {
            fault: max(0.0, (value - _LIMITS[fault][0]) / (_LIMITS[fault][1] - _LIMITS[fault][0]))
            for fault, value in measures.items()
        }

    @property
    def score(self) -> float:
        """The sum of the severities: 0.0 for a take without a fault."""
        return sum(self.severities.values())

    @property
    def found(self) -> tuple[Fault, ...]:
        """The faults that are bad (severity of at least 1.0), worst first."""
        bad = [(-value, fault) for fault, value in self.severities.items() if value >= 1.0]
        return tuple(fault for _, fault in sorted(bad))


def faults(samples: Samples, rate: int, expected_seconds: float) -> TakeFaults:
    """Measure a take: samples (n,) at `rate` Hz, against the length its text should have.

    An empty or silent take is as short as can be. Raises InvalidSamples, and InvalidSetting for
    a rate below 8 kHz or a length that is not above zero.
    """
    if rate < _SHORTEST_RATE or not 0.0 < expected_seconds < math.inf:
        raise InvalidSetting(
            f"a take needs a rate of at least {_SHORTEST_RATE} Hz and an expected length above"
            f" 0 s, not {rate} Hz and {expected_seconds} s"
        )
    samples = as_samples(samples)
    frames = _Frames.of(samples, rate)
    sounding = np.flatnonzero(frames.sounding)
    seconds = len(samples) / rate
    if not len(sounding):
        return TakeFaults(-_MOST_LENGTH, seconds, 0.0, 0.0, _clipped(samples), 0.0, 0.0)
    start, end = sounding[0] * _HOP, min(seconds, (sounding[-1] + 1) * _HOP)
    ratio = math.log(max(end - start, _HOP) / expected_seconds)
    return TakeFaults(
        length=max(-_MOST_LENGTH, min(_MOST_LENGTH, ratio)),
        leading_silence=float(start),
        inner_silence=float(np.diff(sounding).max(initial=1) - 1) * _HOP,
        trailing_silence=float(seconds - end),
        clipping=_clipped(samples),
        repetition=_repeated(frames),
        noise=_flatness(frames),
    )


def rank(takes: Sequence[TakeFaults]) -> list[int]:
    """The takes' indices, best first: least score, then nearest the expected length."""
    return sorted(
        range(len(takes)), key=lambda index: (takes[index].score, abs(takes[index].length))
    )


@dataclass(frozen=True, slots=True)
class _Frames:
    """Power spectra (frames, bins) within the band of speech, their mel bands, what sounds."""

    power: _Floats
    bands: _Floats
    sounding: NDArray[np.bool_]

    @classmethod
    def of(cls, samples: Samples, rate: int) -> "_Frames":
        size, hop = round(rate * _FRAME), round(rate * _HOP)
        padded = np.pad(samples.astype(np.float64), (0, size))
        pieces = np.lib.stride_tricks.sliding_window_view(padded, size)[: len(samples) : hop]
        levels = 10 * np.log10(np.square(pieces).mean(axis=1) + _FLOOR)
        sounding = levels > _SILENT_DB
        if sounding.any():
            sounding &= levels > float(np.percentile(levels[sounding], 95)) - _BELOW_LOUD_DB
        frequencies = np.fft.rfftfreq(size, 1 / rate)
        speech = (frequencies > _LOWEST_HZ) & (frequencies < _HIGHEST_HZ)
        power = np.square(np.abs(np.fft.rfft(pieces * np.hanning(size), axis=1)[:, speech]))
        return cls(power, np.log(power @ _mel_filters(frequencies[speech]) + _FLOOR), sounding)


def _mel_filters(frequencies: NDArray[np.floating]) -> _Floats:
    """Triangular filters (bins, bands), evenly spaced on the HTK mel scale."""
    lowest, highest = (
        2595 * math.log10(1 + hertz / 700)
        for hertz in (_LOWEST_HZ, min(_HIGHEST_HZ, float(frequencies[-1])))
    )
    points = 700 * (10 ** (np.linspace(lowest, highest, _BANDS + 2) / 2595) - 1)
    widths = np.diff(points)
    rising = (frequencies[:, None] - points[:-2]) / widths[:-1]
    falling = (points[2:] - frequencies[:, None]) / widths[1:]
    filters: _Floats = np.maximum(0, np.minimum(rising, falling))
    return filters


def _clipped(samples: Samples) -> float:
    """Share of samples in runs of at least three at full scale."""
    if not len(samples):
        return 0.0
    full = np.concatenate(([False], np.abs(samples) >= _FULL_SCALE, [False]))
    borders = np.flatnonzero(np.diff(full.astype(np.int8)))
    runs = borders[1::2] - borders[::2]
    return float(runs[runs >= _FLAT_TOP].sum() / len(samples))


def _flatness(frames: _Frames) -> float:
    power = frames.power[frames.sounding] + _FLOOR
    means = power.mean(axis=1)
    flatness = np.exp(np.log(power).mean(axis=1)) / means
    return float(np.average(flatness, weights=means))


def _repeated(frames: _Frames) -> float:
    """Share of sounding frames that lie in a phrase that comes again, or came before."""
    shapes = frames.bands - frames.bands.mean(axis=1, keepdims=True)
    shapes -= shapes[frames.sounding].mean(axis=0)
    shapes /= np.linalg.norm(shapes, axis=1, keepdims=True) + _FLOOR
    shapes[~frames.sounding] = 0
    phrase = round(_PHRASE / _HOP)
    again = np.zeros(len(shapes), dtype=np.bool_)
    last_lag = min(round(_LONGEST_LAG / _HOP), len(shapes) - phrase)
    for lag in range(round(_SHORTEST_LAG / _HOP), last_lag + 1):
        alike = np.concatenate(([0.0], np.einsum("ij,ij->i", shapes[:-lag], shapes[lag:]).cumsum()))
        starts = np.flatnonzero((alike[phrase:] - alike[:-phrase]) / phrase > _ALIKE)
        again[starts] = again[starts + lag] = True
    covered = np.convolve(again, np.ones(phrase))[: len(shapes)] > 0
    return float((covered & frames.sounding).sum() / frames.sounding.sum())
