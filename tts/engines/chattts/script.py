"""A segment as ChatTTS reads it: the few characters that it was trained on, and its tokens.

Its own normaliser (`ChatTTS/norm.py`) keeps Han, Latin letters and `，。、,.` alone,
and deletes the rest with what it says: question marks, digits, percent signs.
Here digits and symbols are words already (`tts.text.normalise`), and every mark
becomes the kept one that is nearest, so that no pause is lost.
"""

import re
from collections.abc import Container
from functools import lru_cache

from tts.text.segment import Segment

_MARKS = str.maketrans(
    {
        "！": "。", "？": "。", "；": "，", "：": "，", "!": ".", "?": ".", ";": ",", ":": ",",
        "-": " ", "'": "", "’": "",
    }
)  # fmt: skip
_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_UNKNOWN = re.compile(rf"[^A-Za-z，。、,. {_HAN}]+")
_RARE = re.compile(f"[{_HAN}]")
_SPACES = re.compile(r" {2,}| (?=[，。、,.])")
_WORD = re.compile(r"[A-Za-z]+(?:'[A-Za-z]+)?")
_CAPITALS = re.compile(r"(?<![A-Za-z'])([A-Z]{2,5})(s?)(?![A-Za-z'])")
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
    replaced by a common one that sounds the same, or left out where there is none.
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
    return match[0] if said else " ".join(word + plural)


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
    found = _homophone(character)
    return found if known is None or found in known else ""


@lru_cache(maxsize=4096)
def _homophone(character: str) -> str:
    """A common character with the same syllable and tone; "" where there is none."""
    return _common_characters().get(_syllable(character), "")


@lru_cache(maxsize=1)
def _common_characters() -> dict[str, str]:
    """A common character for each syllable.

    Of the first level of GB 2312, the 3,755 most used.
    """
    cells = (bytes((row, cell)) for row in range(0xB0, 0xD8) for cell in range(0xA1, 0xFF))
    table: dict[str, str] = {}
    for character in "".join(cell.decode("gb2312", errors="ignore") for cell in cells):
        table.setdefault(_syllable(character), character)
    return table


def _syllable(character: str) -> str:
    """Its most usual pinyin, the tone as a digit; itself where it is not known."""
    from pypinyin import Style, lazy_pinyin

    return lazy_pinyin(character, style=Style.TONE3, neutral_tone_with_five=True)[0]
