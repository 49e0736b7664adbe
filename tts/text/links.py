"""Markdown links: their text is read, their targets never."""

import re

from tts.text.controls import Undecided

LONGEST_TARGET = 8_000
"""Characters of a target; a longer one is no target but text."""

_ADDRESS = rf"[^()\s]{{1,{LONGEST_TARGET}}}(?:\([^()\s]{{0,500}}\)[^()\s]{{0,500}})?"
_TARGET = (
    rf"\((?=[^()\s]{{0,{LONGEST_TARGET}}}[./#:]){_ADDRESS}"
    r"(?:[ \t]\"[^\"\n]{0,200}\")?\)"
)
LINK = re.compile(r"!?\[([^\[\]\n]{0,500})\]" + _TARGET)
"""A link or an image; the first group is its text."""
DANGLING_TARGET = re.compile(r"\]" + _TARGET)
"""The end of a link whose beginning stands in an earlier piece."""
IMAGE_IN_LINK = re.compile(r"\[(?=!\[)")

_BEGUN = re.compile(
    rf"\]\((?:[^()\s]{{0,{LONGEST_TARGET}}}"
    r"(?:\([^()\s]{0,500}(?:\)[^()\s]{0,500})?)?(?:[ \t](?:\"[^\"\n]{0,200}\"?)?)?)\Z"
)


def target_end(text: str, at: int, *, final: bool) -> int | None:
    """Where the target ends that begins at `text[at]`, its "]"; None where there is none.

    Raises Undecided where that depends on text that may still come (not when `final`).
    """
    following = text[at + 1 : at + 2]
    if following == "(":
        match = DANGLING_TARGET.match(text, at)
        if match:
            return match.end()
    elif following:
        return None
    if not final and (not following or _BEGUN.match(text, at)):
        raise Undecided
    return None
