"""Bounded silence where segments join."""

import numpy as np

from tts.audio.errors import InvalidSetting
from tts.audio.pcm import Samples, empty

THRESHOLD_DB = -50.0
"""A sample below this level (dBFS) is silent."""

MAX_JOIN_MS = 150.0

_FADE_OUT_MS = 5.0
_FADE_IN_MS = 2.0
_ONSET_SHARE = 0.2


class JoinSilence:
    """Caps the silence between segments, before the first and after the last.

    Silence inside a segment is kept to the sample, and so is every audible sample,
    which leaves at once: only silence is ever held. At a join, a fifth of the
    `max_join_ms` belongs to the silence before the next onset and the rest to the
    decay before it (either may use what the other leaves), so that soft onsets and
    decays below the threshold survive. Where silence is cut out, both sides are
    faded. A segment that starts or ends abruptly gets a fade of at most 5 ms put
    before or behind it, which keeps its own samples whole. The output does not
    depend on how the input was cut.
    """

    def __init__(
        self,
        rate: int,
        max_join_ms: float = MAX_JOIN_MS,
        max_lead_ms: float = 30.0,
        max_trail_ms: float = MAX_JOIN_MS,
        threshold_db: float = THRESHOLD_DB,
    ) -> None:
        if rate < 1 or max_join_ms < 30.0 or max_lead_ms < 0.0 or max_trail_ms < 30.0:
            raise InvalidSetting(
                "silences need a rate of at least 1 Hz, max_join_ms and max_trail_ms of at least"
                f" 30 and max_lead_ms of at least 0, not {rate}, {max_join_ms}, {max_trail_ms}"
                f" and {max_lead_ms}"
            )
        self._threshold = np.float32(10.0 ** (threshold_db / 20.0))
        self._join = _count(rate, max_join_ms)
        self._lead = _count(rate, max_lead_ms)
        self._trail = _count(rate, max_trail_ms)
        self._fade_out = _count(rate, _FADE_OUT_MS)
        self._fade_in = _count(rate, _FADE_IN_MS)
        self._onset_share = int(self._join * _ONSET_SHARE)
        certain = min(self._join - self._onset_share, self._trail)
        self._immediate = certain - self._fade_out
        self._begun = False  # an audible sample has left
        self._in_segment = False  # an audible sample of this segment has left
        self._run = 0  # silent samples behind the last audible one of its segment
        self._held = empty()  # of those, the ones that have not left
        self._before = empty()  # silence before this segment's onset, its last part
        self._before_length = 0
        self._recent = empty()  # the last samples that left, as much as a fade needs

    def process(self, samples: Samples) -> Samples:
        """Take the next samples of the current segment; returns what may leave now."""
        audible = np.flatnonzero(np.abs(samples) >= self._threshold)
        if not len(audible):
            return self._leave([self._silence(samples)])
        first, last = int(audible[0]), int(audible[-1])
        pieces = [
            self._silence(samples[:first]),
            self._onset(samples[first]),
            samples[first : last + 1],
        ]
        return self._leave([*pieces, self._silence(samples[last + 1 :])])

    def segment_end(self) -> Samples:
        """Close the current segment; returns the fade if it ended abruptly."""
        if not self._in_segment:
            return empty()
        self._in_segment = False
        self._held = self._held[: max(self._join, self._trail)]
        if self._run:
            return empty()
        fade = (self._recent[::-1] * _falling(len(self._recent))).astype(np.float32)
        self._run = len(fade) - self._audible_end(fade)
        return self._leave([fade])

    def finish(self) -> Samples:
        """Close the stream; returns the last of its silence."""
        tail = self.segment_end()
        room = max(0, self._trail - (self._run - self._held_length()))
        rest = np.concatenate((self._held, self._before))
        cut = len(rest) > room or self._before_length > len(self._before)
        rest = rest[:room]
        self._held = self._before = empty()
        return np.concatenate((tail, self._faded_out(rest) if cut else rest))

    def _held_length(self) -> int:
        """How many silent samples of the run have not left; some may be forgotten already."""
        return self._run - min(self._run, self._immediate)

    def _silence(self, silence: Samples) -> Samples:
        if not len(silence):
            return silence
        if not self._in_segment:
            kept = np.concatenate((self._before, silence))
            self._before = kept[max(0, len(kept) - max(self._join, self._lead, self._trail)) :]
            self._before_length += len(silence)
            return empty()
        room = max(0, self._immediate - self._run)
        self._run += len(silence)
        self._held = np.concatenate((self._held, silence[room:]))
        return silence[:room]

    def _onset(self, sample: np.float32) -> Samples:
        """What precedes an audible sample that follows silence or a border."""
        if self._in_segment:
            inner, self._held, self._run = self._held, empty(), 0
            return inner
        rise = empty()
        if not self._before_length:
            rise = (_falling(self._fade_in)[::-1] * sample).astype(np.float32)
            self._before_length = len(rise) - self._audible_end(rise[::-1])
            self._before, rise = np.split(rise, [self._before_length])
        joined = np.concatenate((self._joined() if self._begun else self._led(), rise))
        self._begun = self._in_segment = True
        self._held, self._before = empty(), empty()
        self._run = self._before_length = 0
        return joined

    def _audible_end(self, samples: Samples) -> int:
        """The length of `samples` without the silence at their end."""
        audible = np.flatnonzero(np.abs(samples) >= self._threshold)
        return int(audible[-1]) + 1 if len(audible) else 0

    def _led(self) -> Samples:
        kept = min(self._before_length, self._lead)
        lead = self._before[len(self._before) - kept :]
        return self._faded_in(lead) if kept < self._before_length else lead

    def _joined(self) -> Samples:
        """The silence at a join, without what has already left of it."""
        after, before = self._run, self._before_length
        kept_before = min(before, max(self._join - after, self._onset_share))
        kept_after = min(after, self._join - kept_before)
        gone = after - self._held_length()
        decay = self._held[: kept_after - gone]
        lead = self._before[len(self._before) - kept_before :]
        if kept_after < after or kept_before < before:
            decay, lead = self._faded_out(decay), self._faded_in(lead)
        return np.concatenate((decay, lead))

    def _faded_out(self, silence: Samples) -> Samples:
        length = min(len(silence), self._fade_out)
        faded = silence.copy()
        faded[len(faded) - length :] *= _falling(length)
        return faded

    def _faded_in(self, silence: Samples) -> Samples:
        length = min(len(silence), self._fade_in)
        faded = silence.copy()
        faded[:length] *= _falling(length)[::-1]
        return faded

    def _leave(self, pieces: list[Samples]) -> Samples:
        leaving = np.concatenate(pieces)
        self._recent = np.concatenate((self._recent, leaving[-self._fade_out :]))[-self._fade_out :]
        return leaving


def _count(rate: int, milliseconds: float) -> int:
    return round(rate * milliseconds / 1_000)


def _falling(length: int) -> Samples:
    """Half a cosine from just under 1.0 to just above 0.0."""
    phase = (np.arange(length) + 0.5) / max(1, length)
    return (0.5 + 0.5 * np.cos(np.pi * phase)).astype(np.float32)
