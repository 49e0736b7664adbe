"""A segment as ChatTTS reads it: the few characters that it was trained on, and its tokens.

Its own normaliser (`ChatTTS/norm.py`) keeps Han, Latin letters and `，。、,.` alone,
and deletes the rest with what it says: question marks, digits, percent signs.
Here digits and symbols are words already (`tts.text.normalise`), and every mark
becomes the kept one that is nearest, so that no pause is lost.
"""

import re
from collections.abc import Container

from tts.engines.homophones import HAN, homophone
from tts.text.segment import Segment

_MARKS = str.maketrans(
    {
        "！": "。", "？": "。", "；": "，", "：": "，", "!": ".", "?": ".", ";": ",", ":": ",",
        "-": " ", "'": "", "’": "",
    }
)  # fmt: skip
_UNKNOWN = re.compile(rf"[^A-Za-z，。、,. {HAN}]+")
_RARE = re.compile(f"[{HAN}]")
_SPACES = re.compile(r" {2,}| (?=[，。、,.])")
_WORD = re.compile(r"[A-Za-z]+(?:'[A-Za-z]+)?")
_CAPITALS = re.compile(r"(?<![A-Za-z'])([A-Z]{2,5})('?s|)(?![A-Za-z'])")
_VOWEL = re.compile("[AEIOUY]")
_MOST_SHORT = 3
# Short words that are written in capitals for emphasis more often than as letters.
_EMPHASIS = re.compile(
    "ALL|ANY?|AND|ARE|AS|AT|BAD|BE|BIG|BUT|BY|CAN|DID|DO|FOR|GET|GO|GOT|HAD|HAS|HER?|HEY|HI[MS]|"
    "HOW|I[FNST]|LET|ME|MY|NEW|NOR?|NO[TW]|O[FHNR]|OFF|ONE|OU[RT]|OWN|RAM|SAY|SEE|SHE|SO|THE|TOO?|"
    "TOP|TRY|TWO|UP|WAS|WAY|WE|WH[OY]|WON|WOW|YE[ST]|YOU|ZIP"
)


def script(segment: Segment, known: Container[str] | None = None) -> str:
    """The text of `segment` for the model's tokenizer, with inline tokens in brackets.

    Lower-case letters, Han, spaces and `，。、,.`; capitals that are said letter by
    letter stand apart ("GPU" -> "g p u"). A bracket comes from a mark alone, so
    no text spells a special token. `known` holds the characters of the model's
    vocabulary: a Han character that is not in it, or none of the basic block, is
    replaced by a common one that sounds the same (`homophones`), or left out where
    the vocabulary has none.
    """
    spoken = segment.spoken
    letters = not _is_shouted(spoken)
    parts: list[str] = []
    done = 0
    for mark in segment.marks:
        parts += [_plain(spoken[done : mark.offset], known, letters), f"[{mark.token}]"]
        done = max(done, mark.offset)
    parts.append(_plain(spoken[done:], known, letters))
    return "".join(parts).strip()


def _plain(text: str, known: Container[str] | None, letters: bool) -> str:
    if letters:
        text = _CAPITALS.sub(_spelled, text)
    text = _UNKNOWN.sub(" ", text.translate(_MARKS)).lower()
    text = _RARE.sub(lambda match: _usual(match[0], known), text)
    return _SPACES.sub(lambda match: " " if len(match[0]) > 1 else "", text)


def _spelled(match: re.Match[str]) -> str:
    word, plural = match[1], match[2]
    said = _EMPHASIS.fullmatch(word) if len(word) <= _MOST_SHORT else _VOWEL.search(word)
    return match[0] if said else " ".join(word + plural.strip("'"))


def _is_shouted(text: str) -> bool:
    """Whether all of it is in capitals: then they say nothing about how a word is read."""
    words = _WORD.findall(text)
    capitals = [word for word in words if len(word) > 1 and word.isupper()]
    if len(words) < _MOST_SHORT or 2 * len(capitals) <= len(words):
        return False
    return any(len(word) > _MOST_SHORT and _VOWEL.search(word) for word in capitals)


def _usual(character: str, known: Container[str] | None) -> str:
    in_block = "\u4e00" <= character <= "\u9fff"
    if in_block if known is None else character in known:
        return character
    return homophone(character, known)
