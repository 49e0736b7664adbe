"""Pieces of one utterance, computed one by one, joined so that it sounds like one."""

import numpy as np

from tts.engines.base import Samples
from tts.engines.kokoro import SAMPLE_RATE

WORD_PAUSE = 0.06
MARK_PAUSE = 0.14
"""Seconds of silence at a join: between words, and after a mark. At most 0.15 may be left."""

_SILENCE = 10.0 ** (-55.0 / 20.0)
_WINDOW = SAMPLE_RATE // 100
_MARGIN = 2  # windows kept around what is heard: soft onsets, decays
_FADE = SAMPLE_RATE * 5 // 1000
_MARKS = frozenset(",.!?;:—…")


class Joiner:
    """Takes the pieces in order; each leaves at once, trimmed where it meets another.

    The silence before the first piece and behind the last one stays as it is.
    """

    def __init__(self) -> None:
        self._first = True

    def piece(self, audio: Samples, phonemes: str, *, last: bool) -> Samples:
        """The samples to send for a piece that speaks `phonemes`."""
        start, end = _heard(audio)
        head = 0 if self._first else start
        tail = len(audio) if last else end
        self._first = False
        cut = audio[head:tail].copy()
        if head:
            cut[:_FADE] *= _rising(len(cut[:_FADE]))
        if last:
            return cut
        faded = cut[len(cut) - min(_FADE, len(cut)) :]
        faded *= _rising(len(faded))[::-1]
        return np.concatenate((cut, _pause(phonemes)))


def _heard(audio: Samples) -> tuple[int, int]:
    """The first sample and the one after the last that are heard, with a margin."""
    whole = len(audio) // _WINDOW
    levels = np.sqrt(np.square(audio[: whole * _WINDOW].reshape(whole, _WINDOW)).mean(axis=1))
    loud = np.flatnonzero(levels > _SILENCE)
    if not len(loud):
        return 0, len(audio)
    start = max(0, int(loud[0]) - _MARGIN) * _WINDOW
    end = min(len(audio), (int(loud[-1]) + 1 + _MARGIN) * _WINDOW)
    return start, end


def _pause(phonemes: str) -> Samples:
    seconds = MARK_PAUSE if phonemes[-1:] in _MARKS else WORD_PAUSE
    # The margins at both sides are part of the pause.
    return np.zeros(round(seconds * SAMPLE_RATE) - 2 * _MARGIN * _WINDOW, dtype=np.float32)


def _rising(length: int) -> Samples:
    return ((np.arange(length) + 0.5) / max(1, length)).astype(np.float32)
