"""How much of a text was spoken to its listener: what is charged and reported.

A segment counts by the share of its audio that was sent. How long one will be
that is still being made is not known: it is taken to go on at the pace of what
came of the segments before it, or at the usual one of its language.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from tts.engine.streams import expected_seconds
from tts.text.segment import Segment


@dataclass(slots=True)
class SegmentAudio:
    """The samples `[start, end)` of a segment that came so far; `whole`: there are no more."""

    start: int
    end: int
    whole: bool = False


def characters_sent(
    segments: Mapping[int, Segment],
    audio: Mapping[int, SegmentAudio],
    sent: int,
    *,
    sample_rate: int,
    speed: float,
    unfinished: bool,
) -> int:
    """Code points for which the first `sent` samples of a request stand, rounded up a segment.

    With `unfinished`, a segment counts that had begun and was not made to its end.
    """
    if not sent:
        return 0
    pace = _pace(segments, audio, sample_rate, speed)
    characters = 0
    for index, range_ in audio.items():
        segment = segments.get(index)
        if segment is None or not (range_.whole or unfinished):
            continue
        length = range_.end - range_.start
        if not range_.whole:
            length = max(length, round(expected_seconds(segment) * pace))
        heard = min(max(sent - range_.start, 0), length)
        share = heard / length if length else float(sent >= range_.end)
        characters += math.ceil((segment.end - segment.start) * share)
    return characters


def _pace(
    segments: Mapping[int, Segment],
    audio: Mapping[int, SegmentAudio],
    sample_rate: int,
    speed: float,
) -> float:
    """Samples for each second that speech is expected to take at its usual pace."""
    whole = [(segments[index], item) for index, item in audio.items()
             if item.whole and index in segments]  # fmt: skip
    expected = sum(expected_seconds(segment) for segment, _ in whole)
    made = sum(item.end - item.start for _, item in whole)
    return made / expected if expected and made else sample_rate / speed
