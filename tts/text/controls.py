"""ChatTTS's control tokens in a caller's text: what they are, and where they stand.

The vocabulary of ChatTTS 0.2.5 has 50 special tokens. In text they stand in
square brackets ("[uv_break]"), in capitals or not; as plain words they are
words, and so is everything else in brackets. A backslash before the bracket
("\\[laugh]") makes plain text of a token too.

Three kinds: INLINE tokens are heard where they stand; PROMPT tokens say how the
text after them is spoken, until another of their family; RESERVED ones frame a
prompt, mean nothing in a text, and are left out of it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from tts.text.errors import InvalidControlToken

INLINE_TOKENS = ("laugh", "uv_break", "v_break", "lbreak")
"""Heard where they stand: laughter, a pause in speech, a voiced pause, a long pause."""
PROMPT_RANGES = {"speed": 9, "oral": 9, "laugh": 2, "break": 7}
"""Families of prompt tokens, `family_N`, with the largest N; the least is 0."""
RESERVED_TOKENS = (
    *("Sasr", "Pasr", "Easr", "Stts", "Ptts", "Etts", "Sbreak", "Pbreak", "Ebreak"),
    *("llbreak", "undefine", "spk_emb", "empty_spk", "music", "pure"),
)
CONTROL_TOKENS: frozenset[str] = frozenset(
    [
        *INLINE_TOKENS,
        *RESERVED_TOKENS,
        *(f"{family}_{n}" for family, most in PROMPT_RANGES.items() for n in range(most + 1)),
    ]
)
"""The names of all 50 tokens, without brackets."""

_NAMES = "|".join(sorted(map(re.escape, (*INLINE_TOKENS, *RESERVED_TOKENS)), key=len, reverse=True))
# A level that is not allowed matches too: no voice should read it, and it is refused.
CONTROL_PATTERN: re.Pattern[str] = re.compile(
    rf"(?<!\\)\[(?:(?P<name>{_NAMES})"
    rf"|(?P<family>{'|'.join(PROMPT_RANGES)})_(?P<level>[+-]?\d{{1,8}}(?:\.\d{{1,8}})?))\]",
    re.IGNORECASE | re.ASCII,
)
"""A control token in its brackets, with any level."""
LONGEST_CONTROL = 32
"""No match of `CONTROL_PATTERN` has more characters."""

_BEGUN = re.compile(
    rf"(?<!\\)\[(?:[a-z_]{{0,9}}|(?:{'|'.join(PROMPT_RANGES)})_[+-]?\d{{0,8}}(?:\.\d{{0,8}})?)\Z",
    re.IGNORECASE | re.ASCII,
)


class Undecided(Exception):
    """What stands here depends on text that has not come yet."""


class ControlKind(StrEnum):
    """What a control token does."""

    INLINE = "inline"
    PROMPT = "prompt"
    RESERVED = "reserved"


@dataclass(frozen=True, slots=True)
class Control:
    """A control token that stands at `text[start:end]`; `token` is its name as the model has it."""

    token: str
    kind: ControlKind
    start: int
    end: int

    @property
    def family(self) -> str:
        """What a prompt token sets: "speed" of "speed_5"."""
        return self.token.rpartition("_")[0]


def find_controls(text: str, offset: int = 0) -> Iterator[Control]:
    """The control tokens of `text`, which begins at `offset`; those out of range are RESERVED."""
    if "[" in text:
        for match in CONTROL_PATTERN.finditer(text):
            yield _control(match, offset)


def control_at(text: str, at: int, *, final: bool) -> Control | None:
    """The control token that begins at `text[at]`, whatever stands before it.

    Raises Undecided where that depends on text that may still come (not when `final`).
    """
    window = text[at : at + LONGEST_CONTROL + 1]
    match = CONTROL_PATTERN.match(window)
    if match:
        return _control(match, at)
    if not final and len(window) <= LONGEST_CONTROL and _BEGUN.match(window):
        raise Undecided
    return None


def check_controls(text: str, offset: int = 0) -> None:
    """Raise InvalidControlToken at the first token whose level does not exist.

    `offset` is the position of `text` in the whole.
    """
    if "[" not in text:
        return
    for match in CONTROL_PATTERN.finditer(text):
        family = match["family"]
        if family and f"{family.lower()}_{match['level']}" not in CONTROL_TOKENS:
            most = PROMPT_RANGES[family.lower()]
            raise InvalidControlToken(match[0], family.lower(), most, offset + match.start())


def _control(match: re.Match[str], offset: int) -> Control:
    written = match[0][1:-1]
    token = written.lower()
    if token in INLINE_TOKENS:
        kind = ControlKind.INLINE
    elif match["family"] and token in CONTROL_TOKENS:
        kind = ControlKind.PROMPT
    else:
        kind = ControlKind.RESERVED
    return Control(token, kind, offset + match.start(), offset + match.end())
