"""What both languages share: the shape of rules, and joining punctuation marks."""

import re
from collections.abc import Callable

Rule = tuple[re.Pattern[str], Callable[[re.Match[str]], str]]
"""What is written, and the words for a match of it."""

_OPERATORS = re.compile(r"(?<![<>=!-])(?:!=|<=|>=|===?|-{1,2}>|=>)(?![<>=!-])")
_OPERATOR_SIGNS = {"!=": "≠", "<=": "≤", ">=": "≥", "==": "=", "===": "="}


def join_operators(text: str) -> str:
    """Operators that are typed as two characters, as the sign that they stand for."""
    return _OPERATORS.sub(lambda match: _OPERATOR_SIGNS.get(match[0], "→"), text)


_STRENGTH = {"、": 0, ",": 1, "，": 1, ":": 2, "：": 2, ";": 3, "；": 3}
_RUN = re.compile(r"[ ,.!?;:，。！？；：、]+")
_MARKS = frozenset(",.!?;:，。！？；：、")


def _strongest(run: str) -> str:
    marks = [c for c in run if c in _MARKS]
    if not marks:
        return ""
    for final in "?！？!" if len(marks) > 1 else marks[0]:
        if final in marks and final in "?？":
            return final
    return max(marks, key=lambda mark: _STRENGTH.get(mark, 4))


def tidy(text: str, *, gap: str) -> str:
    """One mark for every run of marks and spaces, followed by `gap`; none at the start.

    A run of white space alone becomes `gap`; a question mark wins over an
    exclamation mark, an end of a sentence over a pause.
    """

    def join(match: re.Match[str]) -> str:
        if match.start() == 0:
            return ""
        return _strongest(match[0]) + (gap if match.end() < len(text) else "")

    return _RUN.sub(join, text)
