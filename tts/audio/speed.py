"""Change of tempo in a stream, with the pitch kept."""

import numpy as np

from tts.audio.errors import InvalidSetting
from tts.audio.filtergraph import FilterChain
from tts.audio.pcm import Samples, empty

MIN_SPEED = 0.25
MAX_SPEED = 4.0

# atempo below 0.5 is refused, and above 2 it drops samples instead of blending them.
_STAGE_MIN = 0.5
_STAGE_MAX = 2.0
_FRAME_MS = 20


class SpeedChanger:
    """Float32 at `rate` Hz to the same speech at `speed` times its tempo.

    In the end there are exactly `round(samples / speed)` samples. The stream is
    fed to the filter in frames of 20 ms, so the output does not depend on how the
    input was cut. Speed 1.0 passes through without any delay; another holds back
    about 50 to 100 ms of input. Filter: libavfilter's atempo (WSOLA).
    """

    def __init__(self, rate: int, speed: float) -> None:
        if not MIN_SPEED <= speed <= MAX_SPEED:
            raise InvalidSetting(f"speed must be {MIN_SPEED} to {MAX_SPEED}, not {speed}")
        self._speed = speed
        self._frame = max(1, rate * _FRAME_MS // 1_000)
        self._chain = None if speed == 1.0 else FilterChain(rate, _stages(speed))
        # The filter stops up to a window early; silence behind the end lets it finish.
        self._padding = rate // 4
        self._held = empty()
        self._taken = 0
        self._given = 0

    def process(self, samples: Samples) -> Samples:
        """Take the next samples; returns what is ready, which may be nothing."""
        if self._chain is None:
            return samples
        self._taken += len(samples)
        held = np.concatenate((self._held, samples))
        whole = len(held) - len(held) % self._frame
        self._held = held[whole:]
        return self._give(self._feed(self._chain, held[:whole]))

    def finish(self) -> Samples:
        """The rest of the stream."""
        if self._chain is None or not self._taken:
            return empty()
        last = np.pad(self._held, (0, self._padding))
        self._held = empty()
        rest = np.concatenate((self._feed(self._chain, last), self._chain.flush()))
        missing = self._target - self._given
        return self._give(np.pad(rest, (0, max(0, missing - len(rest)))))

    @property
    def _target(self) -> int:
        return round(self._taken / self._speed)

    def _feed(self, chain: FilterChain, samples: Samples) -> Samples:
        frames = range(0, len(samples), self._frame)
        pieces = [chain.push(samples[start : start + self._frame]) for start in frames]
        return np.concatenate(pieces) if pieces else empty()

    def _give(self, samples: Samples) -> Samples:
        samples = samples[: self._target - self._given]
        self._given += len(samples)
        return samples


def _stages(speed: float) -> list[tuple[str, str]]:
    """One atempo, or two of the square root each where one would not be clean."""
    if _STAGE_MIN <= speed <= _STAGE_MAX:
        return [("atempo", repr(speed))]
    return [("atempo", repr(speed**0.5))] * 2
