"""Whether the end of a text that still arrives may be inside a word."""

import re
import unicodedata

from tts.text.breaks import CLOSERS, PAUSES, STOPS
from tts.text.characters import is_han

# What may stand inside a word as well: "example.com", "9:30", "2,000", "don't", "[a](b)".
_JOINS = frozenset(".,:'’]")
_ENDS = (STOPS | PAUSES | CLOSERS | frozenset("%")) - _JOINS
_PAIRED = frozenset('"*`＂')
# Letters alone before the mark: neither a number nor an address nor "e.g.".
_PLAIN_WORD = re.compile(
    r"(?<![\w.:/@'-])(?!www\b|https?\b)[^\W\d_]{2,}[.,:]\Z", re.ASCII | re.IGNORECASE
)
_AFTER_MARK = re.compile(r"[)”\"*!?.…][.,:'’]\Z")
_FIRST_EMOJI = "\u2190"


def word_ended(text: str) -> bool:
    """Whether nothing that may follow `text` belongs to its last word."""
    last, before = text[-1:], text[-2:-1]
    if not last or last.isspace() or is_han(last) or last in _ENDS:
        return True
    if last in _JOINS and is_han(before or " "):
        return last != "]"
    if last in _PAIRED:
        return bool(before) and not before.isspace()
    if last >= _FIRST_EMOJI and unicodedata.category(last) == "So":
        return True
    return bool(_PLAIN_WORD.search(text) or _AFTER_MARK.search(text))
