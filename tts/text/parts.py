"""Cutting what is spoken of a piece, where a few characters make a long speech.

"$7,777,777" is eleven words, an address is spelled out. Such a piece is cut in its
spoken words, not in its text, so that they are read as in the whole. Where a cut
falls within a span, its place in the original is by proportion.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from tts.text.characters import is_han
from tts.text.compose import Composed
from tts.text.segment import LanguageSpan, Mark
from tts.text.sizes import size_of

_ENDS = re.compile(r"[.!?。！？] ?(?=\S)")
_CLAUSES = re.compile(r"[,;:，；：、] ?(?=\S)")
_SPACES = re.compile(r" (?=\S)")
_LEAST_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class Part:
    """What one segment says, and the place of its source in the original."""

    start: int
    end: int
    spans: tuple[LanguageSpan, ...]
    marks: tuple[Mark, ...]


def parts_of(composed: Composed, start: int, end: int, most: int) -> list[Part]:
    """`composed`, which stands at `start` to `end`, in parts of at most `most` in size.

    Whole where it is short enough, or its text too short to give every part a place.
    """
    spoken = " ".join(span.spoken for span in composed.spans)
    sizes = [0, *accumulate(map(size_of, spoken))]
    if sizes[-1] > most:
        parts = list(_parts(composed, (start, end), [0, *_cuts(spoken, sizes, most), len(spoken)]))
        if all(span.start < span.end for part in parts for span in part.spans):
            return parts
    return [Part(start, end, composed.spans, composed.marks)]


def _parts(composed: Composed, place: tuple[int, int], cuts: Sequence[int]) -> Iterator[Part]:
    begin, end = place
    for first, last in pairwise(cuts):
        spans = tuple(_within(composed.spans, first, last))
        if not spans:
            continue
        stop = end if last == cuts[-1] else spans[-1].end
        length = len(" ".join(span.spoken for span in spans))
        marks = tuple(
            Mark(mark.token, min(mark.offset - first, length))
            for mark in composed.marks
            if (first or -1) < mark.offset <= last
        )
        yield Part(begin, stop, spans, marks)
        begin = stop


def _cuts(spoken: str, sizes: Sequence[int], most: int) -> Iterator[int]:
    """Where parts begin, at the best borders near equal sizes."""
    levels = [
        {match.end() for match in pattern.finditer(spoken)}
        for pattern in (_ENDS, _CLAUSES, _SPACES)
    ]
    levels.append({i for i in range(1, len(spoken)) if is_han(spoken[i - 1]) and is_han(spoken[i])})
    done = 0
    while sizes[-1] - sizes[done] > most:
        left = sizes[-1] - sizes[done]
        aim = left / math.ceil(left / most)
        cut = _border(levels, sizes, done, aim, most)
        if cut is None:
            return
        yield cut
        done = cut


def _border(
    levels: Sequence[set[int]], sizes: Sequence[int], done: int, aim: float, most: int
) -> int | None:
    for borders in levels:
        near = [
            at for at in borders
            if at > done and aim * _LEAST_SHARE <= sizes[at] - sizes[done] <= most
        ]  # fmt: skip
        if near:
            return min(near, key=lambda at: (abs(sizes[at] - sizes[done] - aim), at))
    return None


def _within(spans: Sequence[LanguageSpan], first: int, last: int) -> Iterator[LanguageSpan]:
    """The parts of `spans` that are spoken between `first` and `last`."""
    begin = 0
    for span in spans:
        length = len(span.spoken)
        a, b = max(first - begin, 0), min(last - begin, length)
        begin += length + 1
        if a >= b:
            continue
        spoken = span.spoken[a:b].strip()
        place = [span.start + round((span.end - span.start) * at / length) for at in (a, b)]
        if any(c.isalnum() for c in spoken):
            yield LanguageSpan(span.language, spoken, place[0], place[1])
