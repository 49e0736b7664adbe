"""A text, whole or as it comes, to segments ready to be spoken."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from tts.text.characters import check_scripts
from tts.text.compose import Composed, compose
from tts.text.controls import Control, check_controls
from tts.text.parts import parts_of
from tts.text.pieces import Piece, Splitter
from tts.text.segment import Language, Mark, Segment
from tts.text.sizes import SCALE
from tts.text.split_config import SplitConfig, SplitMode
from tts.text.validate import check_characters

__all__ = [
    "Segmenter",
    "SplitConfig",
    "SplitMode",
    "iter_segments",
    "languages_of",
    "segment_text",
]


class Segmenter:
    """Takes text as it arrives and gives segments as soon as they are certain.

    The pieces of text are joined exactly as they come: spaces between words are
    the sender's. In whatever pieces a text is appended, its segments are the
    same. Not thread-safe; a call costs about a millisecond for each segment.

    Inline control tokens go with the words before them, at the beginning of a line
    with those after them, if any come before the flush: a segment is given out once
    something that is heard follows it. A prompt token holds for all that follows it, over
    flushes too, until another of its family: from the segment that begins with it
    (one begins at the end of a clause before it), or from the next one where it
    stands within a clause, which is spoken as one.

    `language` decides for text without letters ("12345").
    """

    def __init__(self, config: SplitConfig | None = None, language: Language | None = None) -> None:
        config = config or SplitConfig()
        self._splitter = Splitter(config)
        self._most = config.max_chars * SCALE * 5 // 4
        self._language = language
        self._before: Language | None = None
        self._index = 0
        self._prompt: dict[str, str] = {}
        self._waiting: tuple[Mark, ...] = ()  # tokens that came alone, for the next segment
        self._last: Segment | None = None  # made, and not given out yet

    def append(self, text: str) -> list[Segment]:
        """Take more text; the segments that it completes.

        Raises InvalidCharacter, InvalidControlToken or UnsupportedLanguage, with the
        position in the whole stream; then nothing of `text` was taken.
        """
        return list(self.iter_append(text))

    def flush(self) -> list[Segment]:
        """The segments of all text so far; text appended later begins a new one."""
        return list(self.iter_flush())

    def flush_words(self) -> list[Segment]:
        """`flush`, but for a last word that may go on: that stays to be gone on with."""
        rest = self._splitter.withhold()
        segments = self.flush()
        self._splitter.feed(rest)
        return segments

    def iter_append(self, text: str) -> Iterator[Segment]:
        """`append`, one segment at a time: checked at once, normalised as it is iterated."""
        position = self._splitter.received
        check_characters(text, position)
        tail = self._splitter.tail
        check_controls(tail + text, position - len(tail))
        if not text.isascii():
            check_scripts(tail + text, position - len(tail))
        self._splitter.feed(text)
        return self._segments(self._splitter.pieces())

    def iter_flush(self) -> Iterator[Segment]:
        """`flush`, one segment at a time."""
        yield from self._segments(self._splitter.pieces(final=True))
        if self._last is not None:
            end = len(self._last.spoken)
            late = tuple(Mark(mark.token, end) for mark in self._waiting)
            self._last, self._waiting = replace(self._last, marks=self._last.marks + late), ()
        yield from self._release()

    def _segments(self, pieces: Iterable[Piece]) -> Iterator[Segment]:
        for segment in self._all_segments(pieces):
            yield from self._release()
            self._last = segment
            if self._splitter.is_heard_on():
                yield from self._release()
        if self._last is not None and self._splitter.is_heard_on():
            yield from self._release()

    def _release(self) -> Iterator[Segment]:
        if self._last is not None:
            segment, self._last = self._last, None
            yield segment

    def _all_segments(self, pieces: Iterable[Piece]) -> Iterator[Segment]:
        for piece in pieces:
            composed = compose(
                piece.text,
                piece.start,
                line_start=piece.line_start,
                hint=self._language,
                before=self._before,
            )
            self._hold(composed.prompts_before)
            if composed.spans:
                yield from self._made(piece, composed)
            else:
                self._waiting += composed.marks
            self._hold(composed.prompts_after)

    def _made(self, piece: Piece, composed: Composed) -> Iterator[Segment]:
        """One segment, or several where few characters are long to speak."""
        end = piece.start + len(piece.text)
        self._before = composed.spans[-1].language
        for part in parts_of(composed, piece.start, end, self._most):
            source = piece.text[part.start - piece.start : part.end - piece.start]
            self._hold(c for c in composed.prompts_after if c.start < part.spans[0].start)
            prompt = tuple(self._prompt[family] for family in sorted(self._prompt))
            marks, self._waiting = self._waiting + part.marks, ()
            index, self._index = self._index, self._index + 1
            yield Segment(index, source, part.spans, part.start, part.end, marks, prompt)

    def _hold(self, prompts: Iterable[Control]) -> None:
        self._prompt.update((control.family, control.token) for control in prompts)


def iter_segments(
    text: str, language: Language | None = None, config: SplitConfig | None = None
) -> Iterator[Segment]:
    """The segments of a whole text, each made when it is asked for.

    Checked at once: raises InvalidCharacter, InvalidControlToken or UnsupportedLanguage
    from this call, not from the iteration. Nothing comes of text that cannot be heard.
    """
    segmenter = Segmenter(config, language)
    appended = segmenter.iter_append(text)

    def run() -> Iterator[Segment]:
        yield from appended
        yield from segmenter.iter_flush()

    return run()


def segment_text(
    text: str, language: Language | None = None, config: SplitConfig | None = None
) -> list[Segment]:
    """All segments of a whole text; raises what `iter_segments` raises."""
    return list(iter_segments(text, language, config))


def languages_of(segments: Iterable[Segment]) -> tuple[Language, ...]:
    """The languages of all segments, in order of first appearance."""
    return tuple(dict.fromkeys(lang for segment in segments for lang in segment.languages))
