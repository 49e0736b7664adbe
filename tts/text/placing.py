"""Where a place in written text comes to stand in what is spoken of it.

The whole is normalised as if no token stood in it, so that a number and its unit,
or an abbreviation and the name after it, are read together whatever stands
between them. A token's place is then found by what is spoken of the text before
it, else of the text after it; in words that neither tells apart ("$5 [laugh]
million": "five million dollars") it is after those that both readings begin with.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

from tts.text.characters import is_han

_MARKS = ",.!?;:，。！？；：、"
_SILENT = _MARKS + " "


def place(
    written: str, spoken: str, places: Sequence[int], speak: Callable[[str], str]
) -> list[int]:
    """The offsets in `spoken` of `places` in `written`, which are in order; so are the offsets.

    `speak` makes `spoken` of `written`, or of a part of it.
    """
    offsets: list[int] = []
    known: dict[int, int] = {0: 0}
    done = 0
    for before, at in pairwise((0, *places)):
        if at not in known:
            done = known[at] = _offset(written, spoken, before, at, done, speak)
        offsets.append(known[at])
    return offsets


def _offset(
    written: str, spoken: str, before: int, at: int, done: int, speak: Callable[[str], str]
) -> int:
    said = speak(written[before:at])
    if not any(c.isalnum() for c in said):
        return _pass_mark(spoken, done) if said.strip() else done
    words = said.strip(_SILENT)
    start = _skip(spoken, done)
    end = start + len(words)
    if spoken.startswith(words, start) and _is_border(spoken, end):
        return _pass_mark(spoken, end) if said.rstrip()[-1] in _MARKS else end
    following = speak(written[at:]).strip(_SILENT)
    core = spoken.rstrip(_SILENT)
    cut = len(core) - len(following)
    if following and cut >= done and core.endswith(following) and _is_border(spoken, cut):
        return max(done, len(spoken[:cut].rstrip(" ")))
    return max(done, _common_end(spoken, start, words))


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SILENT:
        at += 1
    return at


def _pass_mark(text: str, at: int) -> int:
    """Past the marks at `text[at]`, for a token that stands after a mark."""
    while at < len(text) and text[at] in _MARKS:
        at += 1
    return at


def _is_border(text: str, at: int) -> bool:
    """Whether no word of letters goes on over `at`."""
    before, after = text[at - 1 : at], text[at : at + 1]
    return not (_in_word(before) and _in_word(after))


def _in_word(character: str) -> bool:
    return character in {"'", "-"} or (character.isalnum() and not is_han(character))


def _common_end(spoken: str, start: int, words: str) -> int:
    """The end of the words with which `spoken[start:]` and `words` both begin."""
    length = 0
    for a, b in zip(spoken[start:], words, strict=False):
        if a != b:
            break
        length += 1
    while length and not (_is_border(spoken, start + length) and _is_border(words, length)):
        length -= 1
    return start + len(spoken[start : start + length].rstrip(_SILENT)) if length else start
