"""What becomes of an engine's audio before it leaves the worker."""

import numpy as np

from tts.audio.errors import InvalidSetting, StreamFinished
from tts.audio.limiter import Limiter
from tts.audio.loudness import linear_gain
from tts.audio.pcm import Samples, as_samples, to_s16le
from tts.audio.silence import MAX_JOIN_MS, THRESHOLD_DB, JoinSilence
from tts.audio.speed import SpeedChanger

_GAIN_LIMIT_DB = 60.0
_THRESHOLD_RANGE_DB = (-70.0, -40.0)


class PostProcessor:
    """Float32 in, s16le out: joins, speed, the voice's fixed gain, limiter.

    One per request. The joined output does not depend on how the engine cut its
    audio. At speed 1.0 an audible sample leaves 4 ms after it came in. Raises
    InvalidSamples, InvalidSetting, StreamFinished.
    """

    def __init__(self, rate: int, speed: float = 1.0, gain_db: float = 0.0) -> None:
        if not abs(gain_db) <= _GAIN_LIMIT_DB:
            raise InvalidSetting(
                f"gain_db must be -{_GAIN_LIMIT_DB} to {_GAIN_LIMIT_DB}, not {gain_db}"
            )
        self._rate = rate
        self._speed = SpeedChanger(rate, speed)
        # Slow speech stretches silence too: the bounds hold for what is heard.
        shrink = min(1.0, speed)
        cap = MAX_JOIN_MS * shrink
        # A sample is silent by the level at which it is heard.
        threshold = float(np.clip(THRESHOLD_DB - gain_db, *_THRESHOLD_RANGE_DB))
        self._joins = JoinSilence(
            rate,
            max_join_ms=cap,
            max_lead_ms=max(10.0, 30.0 * shrink),
            max_trail_ms=cap,
            threshold_db=threshold,
        )
        self._gain = np.float32(linear_gain(gain_db))
        self._limiter = Limiter(rate)
        self._tempo = speed
        self._joined = 0
        self._samples = 0
        self._finished = False

    @property
    def peak(self) -> float:
        """The largest absolute sample that has left, 0.0 to 1.0."""
        return self._limiter.peak

    @property
    def limited(self) -> int:
        """How many samples were above the limiter's ceiling."""
        return self._limiter.limited

    @property
    def samples(self) -> int:
        """How many samples have left."""
        return self._samples

    @property
    def position(self) -> int:
        """Where, in samples of the output, the audio taken so far ends.

        It is ahead of `samples` by what the speed filter and the limiter hold, and
        after `segment_end` it is the border of that segment.
        """
        return round(self._joined / self._tempo)

    def process(self, samples: Samples) -> bytes:
        """Take the next audio of the current segment, of shape (n,); returns what is ready."""
        self._check_open()
        return self._shape(self._joins.process(as_samples(samples)))

    def segment_end(self) -> bytes:
        """Close the current segment; the next audio belongs to another one."""
        self._check_open()
        return self._shape(self._joins.segment_end())

    def finish(self) -> bytes:
        """The rest of the audio; nothing may follow."""
        self._check_open()
        last = self._shape(self._joins.finish())
        self._finished = True
        rest = self._limiter.process(self._speed.finish() * self._gain)
        return last + self._leave(np.concatenate((rest, self._limiter.finish())))

    def _check_open(self) -> None:
        if self._finished:
            raise StreamFinished("this audio is finished")

    def _shape(self, joined: Samples) -> bytes:
        self._joined += len(joined)
        return self._leave(self._limiter.process(self._speed.process(joined) * self._gain))

    def _leave(self, samples: Samples) -> bytes:
        self._samples += len(samples)
        return to_s16le(samples)
