"""Where a text may be cut, and how good each place is.

`step` looks at one character with a bounded look-ahead and answers the same
however much more of the text is known: that is what makes splitting a stream
and splitting the whole text give the same segments. Where the answer depends on
what has not come yet, it says so (None).
"""

import re
from dataclasses import dataclass
from enum import IntEnum

from tts.text.characters import LINE_BREAKS, is_han
from tts.text.normalise.english_words import BEFORE_NUMBER, INSIDE, MAY_END, TITLES

_CHINESE_STOPS = frozenset("。！？｡‼⁇⁈⁉")
_ASCII_STOPS = frozenset(".!?．")
_DOTS = frozenset("…⋯")
STOPS = _CHINESE_STOPS | _ASCII_STOPS | _DOTS
_PAUSES = frozenset(",;:，；：、—–")
_CLOSERS = frozenset("”’)]}）］｝】』」》〉〕»›\u200d\ufe0f'")
_PAIRED = frozenset('"*_`＂')
_OPENERS = frozenset("(（[【「『《〈“‘")
_CURRENCY = frozenset("$€£¥￥")
_LATIN_WORD = re.compile(r"[^\s(\[{\"“‘'（]+\Z")
_BLOCK = re.compile(r"[#>|]|[-*+•][ \t]|\d{1,3}[.)、]|`{3}|~{3}")
_INITIALS = re.compile(r"(?:[A-Za-z]\.)+[A-Za-z]\Z")
_MOST_STOPS = 16
_MOST_CLOSERS = 8
_MOST_SPACES = 64
_WORD_REACH = 24
_WRAPPED_LINE = 60


class Level(IntEnum):
    """How good a place to cut is; POOR would tear a number from its unit."""

    POOR = 1
    WORD = 2
    MINOR = 3
    CLAUSE = 4
    SENTENCE = 5


@dataclass(frozen=True, slots=True)
class Step:
    """Scanning goes on at `next`; `text[:position]` may be cut off if `level` is set."""

    next: int
    position: int = 0
    level: Level | None = None


@dataclass(frozen=True, slots=True)
class View:
    """The known text, the start of the current segment in it, and whether more may come."""

    text: str
    first: int
    line_start: bool
    final: bool

    def step(self, at: int) -> Step | None:
        """Look at `text[at]`; None when that needs more text than is known."""
        character = self.text[at]
        if character in STOPS:
            return self._stop(at)
        if character in LINE_BREAKS:
            return self._line_break(at)
        if character in _PAUSES:
            return self._pause(at)
        if character.isspace():
            return self._space(at)
        return self._pair(at)

    def _waits(self, at: int) -> bool:
        return at >= len(self.text) and not self.final

    def _skip_closers(self, at: int) -> int:
        end = min(at + _MOST_CLOSERS, len(self.text))
        while at < end:
            character = self.text[at]
            if character in _CLOSERS:
                at += 1
            elif character in _PAIRED and self._is_open(character, at):
                while at < end and self.text[at] == character:
                    at += 1
            else:
                break
        return at

    def _is_open(self, mark: str, at: int) -> bool:
        """Whether a mark that opens and closes alike ("**") stands open before `at`."""
        before = self.text[self.first : at]
        return sum(1 for _ in re.finditer(f"{re.escape(mark)}+", before)) % 2 == 1

    def _skip_spaces(self, at: int) -> int:
        end = min(at + _MOST_SPACES, len(self.text))
        while at < end and self.text[at].isspace():
            at += 1
        return at

    def _stop(self, at: int) -> Step | None:
        text, end = self.text, at
        while end < len(text) and end - at < _MOST_STOPS and text[end] in STOPS:
            end += 1
        if end - at < _MOST_STOPS and self._waits(end):
            return None
        after = self._skip_closers(end)
        if after - end < _MOST_CLOSERS and self._waits(after):
            return None
        follows = self._skip_spaces(after)
        run = text[at:end]
        if not _CHINESE_STOPS.isdisjoint(run):
            return Step(after, after, Level.SENTENCE)
        if follows - after < _MOST_SPACES and self._waits(follows):
            return None
        following = text[follows] if follows < len(text) else ""
        level = self._stop_level(at, run, after > end, follows > after, following)
        return Step(after, after, level)

    def _stop_level(
        self, at: int, run: str, closed: bool, spaced: bool, following: str
    ) -> Level | None:
        if not following:
            return Level.SENTENCE
        if not spaced and not is_han(following) and following not in _OPENERS:
            if not _DOTS.isdisjoint(run) or len(run) > 1:
                return Level.CLAUSE if following.isalnum() else None
            joined = run in "!?" and following.isupper() and self.text[at - 1 : at].isalpha()
            return Level.SENTENCE if joined else None
        if following.islower() and closed:
            return Level.CLAUSE
        if not _DOTS.isdisjoint(run) or run.startswith(".."):
            return Level.SENTENCE if following.isupper() else Level.CLAUSE
        if "!" in run or "?" in run:
            return Level.SENTENCE
        return self._full_stop(at, following)

    def _full_stop(self, at: int, following: str) -> Level | None:
        match = _LATIN_WORD.search(self.text[max(self.first, at - _WORD_REACH) : at])
        word = match[0] if match else ""
        if word.isdigit() and len(word) <= 3 and self._starts_item(at - len(word)):
            return None
        if word in TITLES or word in INSIDE or word == "St":
            return None
        if word in BEFORE_NUMBER and following.isdigit():
            return None
        if word in MAY_END or _INITIALS.search(word):
            return Level.CLAUSE if following.isupper() or is_han(following) else None
        if len(word) == 1 and word.isupper() and word.isascii():
            return None
        if following.islower():
            unknown = not word.isalpha() or len(word) < 3 or word[0].isupper()
            return None if unknown else Level.SENTENCE
        return Level.SENTENCE

    def _starts_item(self, at: int) -> bool:
        """Whether a number here begins a list item: at the start of a line, or after a colon."""
        before = self.text[max(self.first, at - _WORD_REACH) : at]
        bare = before.rstrip(" \t")
        if not bare:
            return self.first == at - len(before) and (self.line_start or not before)
        return bare[-1] in LINE_BREAKS or bare[-1] in ":："

    def _line_break(self, at: int) -> Step | None:
        text = self.text
        follows = self._skip_spaces(at)
        gap = text[at:follows].replace("\r\n", "\n")
        many = sum(character in LINE_BREAKS for character in gap) > 1
        position = at
        while position > max(self.first, at - _MOST_SPACES) and text[position - 1].isspace():
            position -= 1
        if many or follows - at >= _MOST_SPACES:
            return Step(at + 1, position, Level.SENTENCE)
        if self._waits(follows):
            return None
        if follows < len(text) and text[follows] in "-*+•~`0123456789" and self._waits(follows + 3):
            return None
        level = Level.WORD if self._wraps(at, follows) else Level.SENTENCE
        return Step(at + 1, position, level)

    def _wraps(self, at: int, follows: int) -> bool:
        """Whether a single line break is only where an editor wrapped a long line."""
        text = self.text
        if follows >= len(text) or _BLOCK.match(text, follows) or at == self.first:
            return False
        line = re.split(r"[\n\r]", text[self.first : at])[-1]
        if _BLOCK.match(line.lstrip()) and line.lstrip()[:1] in "#|`":
            return False
        last, following = text[at - 1], text[follows]
        if not last.isascii() or last in ".!?:" or not following.isascii():
            return False
        return following.islower() or (len(line) >= _WRAPPED_LINE and following.isalnum())

    def _pause(self, at: int) -> Step | None:
        text, character = self.text, self.text[at]
        after = self._skip_closers(at + 1)
        if self._waits(after):
            return None
        following = text[after] if after < len(text) else ""
        before = text[at - 1] if at > self.first else ""
        level: Level | None = Level.CLAUSE
        if before.isdigit() and following.isdigit():
            level = None
        elif character in ",;:":
            level = Level.CLAUSE if following.isspace() or is_han(following or " ") else None
        elif character == "、":
            level = Level.MINOR
        elif character in "—–" and (following in {"—", "–"} or following in STOPS):
            level = None
        return Step(after, after, level)

    def _space(self, at: int) -> Step | None:
        text = self.text
        if self._waits(at + 1):
            return None
        following = text[at + 1] if at + 1 < len(text) else ""
        before = text[at - 1] if at > self.first else ""
        if not following or following.isspace() or not before or following in STOPS:
            return Step(at + 1)
        if following in "-–—":
            if self._waits(at + 2):
                return None
            if text[at + 2 : at + 3].isspace():
                number = before.isdigit()
                return Step(at + 1, at, Level.POOR if number else Level.CLAUSE)
        if following in _PAUSES or following in _CLOSERS:
            return Step(at + 1)
        poor = before.isdigit() or following.isdigit() or before in _CURRENCY or before == "."
        return Step(at + 1, at, Level.POOR if poor else Level.WORD)

    def _pair(self, at: int) -> Step | None:
        if self._waits(at + 1):
            return None
        character, following = self.text[at], self.text[at + 1 : at + 2]
        if not following or not (is_han(character) or is_han(following)):
            return Step(at + 1)
        if following.isdigit():
            return Step(at + 1, at + 1, Level.POOR)
        if is_han(character) and following in _OPENERS:
            return Step(at + 1, at + 1, Level.MINOR)
        if character in "）】》」』" and is_han(following):
            return Step(at + 1, at + 1, Level.MINOR)
        words = (is_han(character) or (character.isascii() and character.isalpha())) and (
            is_han(following) or (following.isascii() and following.isalpha())
        )
        return Step(at + 1, at + 1, Level.WORD) if words else Step(at + 1)
