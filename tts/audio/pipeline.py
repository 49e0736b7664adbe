"""What becomes of an engine's audio before it leaves the worker."""

import numpy as np

from tts.audio.errors import InvalidSetting, StreamFinished
from tts.audio.limiter import Limiter
from tts.audio.loudness import linear_gain
from tts.audio.pcm import Samples, as_samples, empty, to_s16le
from tts.audio.silence import THRESHOLD_DB, JoinSilence
from tts.audio.speed import SpeedChanger

_GAIN_LIMIT_DB = 60.0
_THRESHOLD_RANGE_DB = (-70.0, -40.0)


class PostProcessor:
    """Float32 in, s16le out: speed, joins, the voice's fixed gain, limiter.

    One per request. The joined output does not depend on how the engine cut its
    audio. At speed 1.0 an audible sample leaves 4 ms after it came in. Speed is
    changed segment by segment, so that borders are exact and the bounds on silence
    hold for what is heard. Raises InvalidSamples, InvalidSetting, StreamFinished.
    """

    def __init__(self, rate: int, speed: float = 1.0, gain_db: float = 0.0) -> None:
        if not abs(gain_db) <= _GAIN_LIMIT_DB:
            raise InvalidSetting(
                f"gain_db must be -{_GAIN_LIMIT_DB} to {_GAIN_LIMIT_DB}, not {gain_db}"
            )
        self._rate = rate
        self._tempo = speed
        self._speed = SpeedChanger(rate, speed)
        # A sample is silent by the level at which it is heard.
        threshold = float(np.clip(THRESHOLD_DB - gain_db, *_THRESHOLD_RANGE_DB))
        self._joins = JoinSilence(rate, threshold_db=threshold)
        self._gain = np.float32(linear_gain(gain_db))
        self._limiter = Limiter(rate)
        self._in_segment = False
        self._position = 0
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
        """After `segment_end`, the border of that segment in samples of the output.

        It is ahead of `samples` by the 4 ms that the limiter holds.
        """
        return self._position

    def process(self, samples: Samples) -> bytes:
        """Take the next audio of the current segment, of shape (n,); returns what is ready."""
        self._check_open()
        samples = as_samples(samples)
        self._in_segment = True
        return self._shape(self._joins.process(self._speed.process(samples)))

    def segment_end(self) -> bytes:
        """Close the current segment; the next audio belongs to another one."""
        self._check_open()
        return self._shape(self._end_segment())

    def finish(self) -> bytes:
        """The rest of the audio; nothing may follow."""
        self._check_open()
        last = self._shape(np.concatenate((self._end_segment(), self._joins.finish())))
        self._finished = True
        return last + self._leave(self._limiter.finish())

    def _check_open(self) -> None:
        if self._finished:
            raise StreamFinished("this audio is finished")

    def _end_segment(self) -> Samples:
        if not self._in_segment:
            return empty()
        self._in_segment = False
        rest = self._joins.process(self._speed.finish())
        self._speed = SpeedChanger(self._rate, self._tempo)
        return np.concatenate((rest, self._joins.segment_end()))

    def _shape(self, joined: Samples) -> bytes:
        self._position += len(joined)
        return self._leave(self._limiter.process(joined * self._gain))

    def _leave(self, samples: Samples) -> bytes:
        self._samples += len(samples)
        return to_s16le(samples)
