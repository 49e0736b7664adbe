"""Han characters that a voice cannot read, as common ones that sound the same."""

from collections.abc import Container
from functools import lru_cache
from typing import Final

HAN: Final = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
"""Chinese characters, as the inside of a regular expression's brackets."""
UNREADABLE: Final = "某"
"""What a reader says for a character that nobody knows how to read ("such and such")."""
# Forms of common characters that are met in names and that pinyin's tables do not have.
_VARIANTS: Final = {
    "𠮷": "吉", "㐂": "喜", "﨑": "崎", "𥔎": "崎", "𡈽": "土", "𣘺": "桥", "𠀋": "丈",
}  # fmt: skip


@lru_cache(maxsize=8192)
def syllable(character: str) -> str:
    """Its most usual pinyin, the tone as a digit; "" where it has none that is known."""
    from pypinyin import Style, lazy_pinyin

    read = _VARIANTS.get(character, character)
    found = lazy_pinyin(read, style=Style.TONE3, neutral_tone_with_five=True, errors="ignore")
    return found[0] if found else ""


def homophone(character: str, known: Container[str] | None = None) -> str:
    """A common character with the same syllable and tone, of those in `known` if that is given.

    Where its reading is not known, what is said instead; "" where there is nothing in `known`.
    """
    sound = syllable(character)
    found = _common_characters().get(sound, "") if sound else UNREADABLE
    return found if known is None or found in known else ""


def readable(text: str) -> str:
    """`text`, Han alone, with another character for each that has no known reading."""
    return "".join(
        character if _has_reading(character) else homophone(character) for character in text
    )


def _has_reading(character: str) -> bool:
    return character not in _VARIANTS and bool(syllable(character))


@lru_cache(maxsize=1)
def _common_characters() -> dict[str, str]:
    """A common character for each syllable.

    Of the first level of GB 2312, the 3,755 most used.
    """
    cells = (bytes((row, cell)) for row in range(0xB0, 0xD8) for cell in range(0xA1, 0xFF))
    table: dict[str, str] = {}
    for character in "".join(cell.decode("gb2312", errors="ignore") for cell in cells):
        table.setdefault(syllable(character), character)
    return table
