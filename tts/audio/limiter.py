"""A streaming look-ahead limiter."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from tts.audio.errors import InvalidSetting
from tts.audio.pcm import Samples

CEILING = 10.0 ** (-1.0 / 20.0)
"""-1 dBFS: leaves room for the overshoot of lossy codecs and of resampling."""

_LOOK_AHEAD_MS = 4
_RELEASE_PER_SECOND = 4.0
_ONE = 1 << 24

_Integers = NDArray[np.int64]


class Limiter:
    """Float32 in, as many float32 out, none above `ceiling`; 4 ms late.

    What stays below the ceiling comes out bit for bit. Before a peak the gain
    falls for 4 ms and after it rises by 4.0 a second. Gain reduction is reckoned
    in integers (2**24 is 1.0), so that running sums are exact and the output does
    not depend on how the input was cut.

    The gain at a sample is the mean, over the 4 ms before it, of a curve that is
    nowhere above what any sample in the 4 ms after it needs; so it never exceeds
    what the sample itself needs.
    """

    def __init__(self, rate: int, ceiling: float = CEILING) -> None:
        if rate < 1 or not 0.0 < ceiling <= 1.0:
            raise InvalidSetting(
                f"a limiter needs a rate of at least 1 Hz and a ceiling in (0, 1],"
                f" not {rate} Hz and {ceiling}"
            )
        self._ceiling = np.float32(ceiling)
        self._ahead = rate * _LOOK_AHEAD_MS // 1_000
        self._release = max(1, round(_RELEASE_PER_SECOND * _ONE / rate))
        # The stream is taken to begin behind `ahead` zeros, which are not given out.
        self._tail: Samples = np.zeros(self._ahead, dtype=np.float32)
        self._skip = self._ahead
        self._reduction = 0
        self._recent: _Integers = np.zeros(self._ahead, dtype=np.int64)
        self._finished = False
        self.peak = 0.0
        self.limited = 0

    @property
    def delay(self) -> int:
        """How many samples the output lags behind the input."""
        return self._ahead

    def process(self, samples: Samples) -> Samples:
        """Limit the next samples; returns those whose look-ahead is complete.

        `peak` is the largest absolute sample given out so far, `limited` counts
        the input samples that were above the ceiling.
        """
        if not len(samples):
            return samples
        self.limited += int(np.count_nonzero(np.abs(samples) > self._ceiling))
        held = np.concatenate((self._tail, samples))
        count = len(samples)
        self._tail = held[count:]
        output = self._attenuate(held, count)
        skipped = min(self._skip, count)
        self._skip -= skipped
        output = output[skipped:]
        if len(output):
            self.peak = max(self.peak, float(np.abs(output).max()))
        return output

    def finish(self) -> Samples:
        """The samples that were still held; nothing may be processed afterwards."""
        if self._finished:
            return np.zeros(0, dtype=np.float32)
        self._finished = True
        return self.process(np.zeros(self._ahead, dtype=np.float32))

    def _attenuate(self, held: Samples, count: int) -> Samples:
        magnitude = np.abs(held)
        loud = bool((magnitude > self._ceiling).any())
        if not loud and not self._reduction and not self._recent.any():
            return held[:count]
        needed = np.zeros(len(held), dtype=np.int64)
        over = magnitude > self._ceiling
        needed[over] = np.ceil((1.0 - float(self._ceiling) / magnitude[over]) * _ONE)
        worst = sliding_window_view(needed, self._ahead + 1)[:count].max(axis=1)
        curve = self._release_curve(worst)
        history = np.concatenate((self._recent, curve))
        self._recent = history[count:]
        sums = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(history)))
        width = self._ahead + 1
        reduction = (sums[width:] - sums[:-width]) / (width * _ONE)
        limited = (held[:count] * (1.0 - reduction)).astype(np.float32)
        return np.clip(limited, -self._ceiling, self._ceiling)

    def _release_curve(self, worst: _Integers) -> _Integers:
        """The smallest curve above `worst` that falls by at most `release` a sample."""
        slope = self._release * np.arange(1, len(worst) + 1, dtype=np.int64)
        raised = np.maximum(np.maximum.accumulate(worst + slope), self._reduction)
        curve: _Integers = np.maximum(raised - slope, 0)
        self._reduction = int(curve[-1])
        return curve
