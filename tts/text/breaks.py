"""Where a text may be cut, and how good each place is.

`step` looks at one character with a bounded look-ahead and answers the same
however much more of the text is known: that is what makes splitting a stream
and splitting the whole text give the same segments. Where the answer depends on
what has not come yet, it says so (None).
"""

import re
from dataclasses import dataclass

from tts.text.characters import LINE_BREAKS, is_han
from tts.text.controls import ControlKind, Undecided
from tts.text.known import KnownText, Level, Step
from tts.text.links import target_end
from tts.text.normalise.english_words import BEFORE_NUMBER, INSIDE, MAY_END, TITLES

_CHINESE_STOPS = frozenset("。！？｡‼⁇⁈⁉")
_ASCII_STOPS = frozenset(".!?．")
_DOTS = frozenset("…⋯")
STOPS = _CHINESE_STOPS | _ASCII_STOPS | _DOTS
PAUSES = frozenset(",;:，；：、—–")
CLOSERS = frozenset("”’)]}）］｝】』」》〉〕»›\u200d\ufe0f'")
_PAIRED = frozenset('"*_`＂')
_OPENERS = frozenset("(（[【「『《〈“‘")
_CURRENCY = frozenset("$€£¥￥")
_LATIN_WORD = re.compile(r"[^\s(\[{\"“‘'（]+\Z")
_BLOCK = re.compile(r"[#>|]|[-*+•][ \t]|\d{1,3}[.)、]|`{3}|~{3}")
_INITIALS = re.compile(r"(?:[A-Za-z]\.)+[A-Za-z]\Z")
_MOST_STOPS = 16
_MOST_CLOSERS = 8
_MOST_SPACES = 64
_MOST_CONTROLS = 8
_MOST_ABSORBED = 16
_WORD_REACH = 24
_WRAPPED_LINE = 60


@dataclass(frozen=True, slots=True)
class View(KnownText):
    """The known text, seen from the start of the current segment."""

    def step(self, at: int) -> Step | None:
        """Look at `text[at]`; None when that needs more text than is known."""
        try:
            return self.silent(at) or self._step(at)
        except Undecided:
            return None

    def absorb(self, end: int) -> int | None:
        """`end` moved past the inline control tokens that follow it on its line.

        They belong to the words before them, and so does what closes after them.
        None when that needs more text than is known.
        """
        try:
            return self._absorb(end)
        except Undecided:
            return None

    def _absorb(self, end: int) -> int:
        at, count = end, 0
        while count < _MOST_ABSORBED and at < min(end + _MOST_SPACES, len(self.text)):
            character = self.text[at]
            if character.isspace() and character not in LINE_BREAKS:
                at += 1
                continue
            control = self.control(at)
            if control is None or control.kind is not ControlKind.INLINE:
                return end
            end = at = self._skip_closers(control.end)
            count += 1
        if count < _MOST_ABSORBED and self.waits(at):
            raise Undecided
        return end

    def _step(self, at: int) -> Step | None:
        character = self.text[at]
        if character in STOPS:
            return self._stop(at)
        if character in LINE_BREAKS:
            return self._line_break(at)
        if character in PAUSES:
            return self._pause(at)
        if character.isspace():
            return self._space(at)
        return self._pair(at)

    def _skip_closers(self, at: int) -> int:
        """Past what closes here; a link's target closes with its bracket."""
        count = 0
        while count < _MOST_CLOSERS and at < len(self.text):
            character, after = self.text[at], at + 1
            if character in _PAIRED and self._is_open(character, at):
                while (
                    self.text[after : after + 1] == character and after - at < _MOST_CLOSERS - count
                ):
                    after += 1
            elif character not in CLOSERS:
                return at
            elif character == "]":
                after = target_end(self.text, at, final=self.final) or after
            count += after - at if character in _PAIRED else 1
            at = after
        if count < _MOST_CLOSERS and self.waits(at):
            raise Undecided
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

    def _skip_controls(self, at: int) -> int:
        """Past white space and control tokens: what they stand between decides."""
        for _ in range(_MOST_CONTROLS):
            follows = self._skip_spaces(at)
            if follows - at < _MOST_SPACES and self.waits(follows):
                raise Undecided
            control = self.control(follows) if follows < len(self.text) else None
            if control is None:
                return follows
            at = control.end
        if self.waits(at):
            raise Undecided
        return at

    def _stop(self, at: int) -> Step | None:
        text, end = self.text, at
        while end < len(text) and end - at < _MOST_STOPS and text[end] in STOPS:
            end += 1
        if end - at < _MOST_STOPS and self.waits(end):
            return None
        after = self._skip_closers(end)
        run = text[at:end]
        if not _CHINESE_STOPS.isdisjoint(run):
            return Step(after, after, Level.SENTENCE)
        follows = self._skip_controls(after)
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
        if self.waits(follows):
            return None
        if follows < len(text) and text[follows] in "-*+•~`0123456789" and self.waits(follows + 3):
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
        if self.waits(after):
            return None
        following = text[after] if after < len(text) else ""
        if following and self.control(after):
            following = " "
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
        if self.waits(at + 1):
            return None
        following = text[at + 1] if at + 1 < len(text) else ""
        before = text[at - 1] if at > self.first else ""
        if not following or following.isspace() or not before or following in STOPS:
            return Step(at + 1)
        if following in "-–—":
            if self.waits(at + 2):
                return None
            if text[at + 2 : at + 3].isspace():
                number = before.isdigit()
                return Step(at + 1, at, Level.POOR if number else Level.CLAUSE)
        if following in PAUSES or following in CLOSERS:
            return Step(at + 1)
        poor = before.isdigit() or following.isdigit() or before in _CURRENCY or before == "."
        return Step(at + 1, at, Level.POOR if poor else Level.WORD)

    def _pair(self, at: int) -> Step | None:
        if self.waits(at + 1):
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
