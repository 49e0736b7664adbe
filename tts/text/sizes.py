"""How long a character takes to speak, before it is known how it is read."""

from functools import lru_cache

from tts.text.characters import is_han

SCALE = 2
"""Sizes are whole numbers of half Latin letters."""
_HAN = 7
_NUMBER = 5
_CAPITAL = 5
_LETTER = 2
# Read as a word each.
_HEAVY = frozenset("%$€£¥￥&+=@#<>°℃℉×÷±≈‰→")


@lru_cache(maxsize=8192)
def size_of(character: str) -> int:
    """The size of one character.

    Measured in Kokoro's phonemes, of which a Latin letter has about 0.9 with its
    share of spaces: 4.3 for a Han character, 2.6 for a capital letter in an
    abbreviation. A digit has 2 to 8, by what it is part of; what turns out to be long
    is cut again when its words are known (`tts.text.parts`).
    """
    if is_han(character):
        return _HAN
    if character.isdigit() or character in _HEAVY:
        return _NUMBER
    return _CAPITAL if character.isupper() else _LETTER
