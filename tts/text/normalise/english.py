"""English: written numbers, dates, money, abbreviations and symbols to words.

Every rule is a bounded or linear pattern; rules run from the most specific to
the least. A rule's words stand between spaces, so that a later rule cannot read
them together with what is beside them.
"""

import re

from tts.text.normalise import english_words as words
from tts.text.normalise.common import join_operators, tidy
from tts.text.normalise.english_numbers import bare
from tts.text.normalise.english_rules import RULES
from tts.text.normalise.roman import read_english

_SOFT_LINE = re.compile(r"(?<=[a-z,;]) *\n *(?=[a-z(])")
_LINE = re.compile(r" *\n[ \n]*")
_ELLIPSIS = re.compile(r"(?:\.{2,}|…+)(?=(\s*\S)?)")
_DASH = re.compile(r" +-{1,3} +|\s*(?:--+|[—–]+)\s*")
_BRACKETS = re.compile(r"[()\[\]{}<>（）【】《》「」『』〈〉]+")
_LAST_BRACKET = re.compile(r"[)\]}）】]+\s*$")
_LOOSE_APOSTROPHE = re.compile(r"(?<![A-Za-z])'+|'+(?![A-Za-z])")
_LOOSE_HYPHEN = re.compile(r"(?<![A-Za-z])-+|-+(?![A-Za-z])")
_REST = re.compile(r"[^A-Za-z .,!?;:'\-]+")
_FULL_WIDTH = str.maketrans("，。！？；：、．", ",.!?;:,.")
# ".NET", ".env": a name that begins with its dot.
_DOTTED_NAME = re.compile(r"(?<![^\s(\"'“‘])\.(?=[A-Za-z]{2})")
_HAS_RULES = re.compile(r"[\d@/]|\w\.\w")
_DIGITS = re.compile(r"\d+")


def normalise(text: str) -> str:
    """English words and `.,!?;:` only; "" where nothing is spoken."""
    text = join_operators(text).translate(_FULL_WIDTH)
    text = _LINE.sub(". ", _SOFT_LINE.sub(" ", text.strip()))
    text = _DOTTED_NAME.sub("dot ", text)
    text = read_english(words.expand_before_numbers(text))
    rules = RULES if _HAS_RULES.search(text) else ()
    for pattern, handler in rules:
        text = pattern.sub(handler, text)
    text = words.expand(text)
    text = _DIGITS.sub(lambda match: f" {bare(match[0])} ", text)
    return _finish(text)


def _finish(text: str) -> str:
    text = _ELLIPSIS.sub(lambda match: ", " if match[1] else ".", text)
    text = _DASH.sub(", ", text)
    text = words.name_symbols(text)
    text = _BRACKETS.sub(", ", _LAST_BRACKET.sub("", text))
    text = _REST.sub(" ", text)
    text = _LOOSE_APOSTROPHE.sub("", _LOOSE_HYPHEN.sub(" ", text))
    return tidy(text, gap=" ").strip()
