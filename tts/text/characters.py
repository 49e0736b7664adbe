"""What a single character is to speech: its script, and its plain form.

Folding brings full-width forms, accents, compatibility characters and foreign
digits to the letters and digits that the voices know; what makes no sound
(zero-width and control characters, emoji) folds to nothing or to a space.
"""

import re
import unicodedata
from functools import lru_cache

from tts.text.errors import UnsupportedLanguage

LINE_BREAKS = frozenset("\n\r\v\f\x85\u2028\u2029")

_CHINESE_PUNCTUATION = frozenset("，！？：；（）。、…⋯")
_LATIN = {
    "ß": "ss", "ẞ": "SS", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ø": "o", "Ø": "O",
    "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "ð": "th", "Ð": "Th", "þ": "th", "Þ": "Th",
    "ı": "i", "ħ": "h", "Ħ": "H", "ŋ": "ng", "Ŋ": "Ng", "ə": "a", "Ə": "A", "ƒ": "f",
}  # fmt: skip
_SYMBOLS = {
    "’": "'", "‘": "'", "ʼ": "'", "´": "'", "′": "'", "″": '"', "℃": "°C", "℉": "°F",
    "㎡": "m²", "㎥": "m³", "²": "²", "³": "³", "№": "No. ", "⁄": "/", "∕": "/", "−": "-",
    "‐": "-", "‑": "-", "⁃": "-", "の": "的", "￥": "¥", "～": "~", "〜": "~", "〇": "零",
    "㊀": "一", "°": "°", "º": "°", "…": "…", "‥": "…", "⋯": "…", "・": "·", "ª": "a",
}  # fmt: skip
_FRACTIONS = re.compile(r"(\d+)\u2044(\d+)\Z")

# Everything else in a text is known to be supported; only these are looked at one by one.
_UNUSUAL = re.compile(
    "[^\x00-\u00bf\u2000-\u20cf\u2190-\u2bff\u3000-\u3020\u4e00-\u9fff\uff00-\uff5e]"
)
_GREEK_RUN = 2
GREEK_NAMES = {
    "α": ("alpha", "阿尔法"), "β": ("beta", "贝塔"), "γ": ("gamma", "伽马"),
    "δ": ("delta", "德尔塔"), "ε": ("epsilon", "艾普西隆"), "ζ": ("zeta", "泽塔"),
    "η": ("eta", "伊塔"), "θ": ("theta", "西塔"), "ι": ("iota", "约塔"), "κ": ("kappa", "卡帕"),
    "λ": ("lambda", "兰姆达"), "μ": ("mu", "缪"), "ν": ("nu", "纽"), "ξ": ("xi", "克西"),
    "ο": ("omicron", "奥密克戎"), "π": ("pi", "派"), "ρ": ("rho", "柔"), "σ": ("sigma", "西格马"),
    "ς": ("sigma", "西格马"), "τ": ("tau", "陶"), "υ": ("upsilon", "宇普西隆"),
    "φ": ("phi", "斐"), "χ": ("chi", "希"), "ψ": ("psi", "普西"), "ω": ("omega", "欧米伽"),
}  # fmt: skip
"""Greek letters used as symbols: their English and Chinese names."""


def is_han(character: str) -> bool:
    """Whether this is a Chinese character."""
    return (
        "\u4e00" <= character <= "\u9fff"
        or "\u3400" <= character <= "\u4dbf"
        or "\U00020000" <= character <= "\U000323af"
        or "\uf900" <= character <= "\ufaff"
        or character in "々〇"
    )


def is_greek(character: str) -> bool:
    """Whether this is a Greek letter that has a name as a symbol."""
    return fold(character).lower() in GREEK_NAMES


@lru_cache(maxsize=8192)
def fold(character: str) -> str:
    """The plain form of one character: "Ａ" -> "A", "é" -> "e", "①" -> "1", "🎉" -> " ".

    Chinese punctuation and Greek letters stay. White space becomes a space, a
    line break "\\n".
    """
    if " " <= character <= "~" or character in _CHINESE_PUNCTUATION:
        return character
    if character in LINE_BREAKS:
        return "\n"
    if character in _SYMBOLS or character in _LATIN:
        return _SYMBOLS.get(character) or _LATIN[character]
    if is_han(character) and not "\uf900" <= character <= "\ufaff":
        return character
    if character.isspace() or unicodedata.category(character) == "Zs":
        return " "
    return _fold_rare(character)


def _fold_rare(character: str) -> str:
    category = unicodedata.category(character)
    if category in {"Mn", "Me", "Mc", "Cf", "Cc", "Sk"}:
        return ""
    if category in {"Nd", "Nl", "No"}:
        return _fold_number(character)
    if category in {"So", "Co", "Cn", "Cs"} and not character.isalnum():
        plain = unicodedata.normalize("NFKC", character)
        keeps = plain != character and category == "So" and character not in "™℠"
        return plain if keeps and plain.isalnum() and is_supported_text(plain) else " "
    plain = unicodedata.normalize("NFKC", character)
    if plain == character or not plain.isascii():
        plain = "".join(c for c in unicodedata.normalize("NFD", plain) if not combining(c))
    if plain.isascii() or is_supported_text(plain):
        return "".join(_LATIN.get(c, c) for c in plain)
    return character


def _fold_number(character: str) -> str:
    fraction = _FRACTIONS.match(unicodedata.normalize("NFKC", character))
    if fraction:
        return f" {fraction[1]}/{fraction[2]}"
    value = unicodedata.numeric(character, None)
    if value is None or not float(value).is_integer():
        return " "
    digits = str(int(value))
    return digits if unicodedata.category(character) == "Nd" or len(digits) == 1 else f" {digits} "


def combining(character: str) -> bool:
    """Whether this belongs to the character before it (accents, variation selectors, joiners)."""
    return unicodedata.category(character) in {"Mn", "Me"} or character in "\u200d\ufe0e\ufe0f"


def is_supported_text(text: str) -> bool:
    """Whether all letters of a folded text are Latin, Chinese or Greek symbols."""
    return all(
        c.isascii() or is_han(c) or c.lower() in GREEK_NAMES or not c.isalpha() for c in text
    )


def check_scripts(text: str, offset: int = 0) -> None:
    """Raise UnsupportedLanguage at the first letter that no voice can speak.

    Accented Latin letters are folded, one or two Greek letters together are
    read by their names, and a single の among Chinese is read as 的; `offset`
    is the position of `text` in the whole.
    """
    for match in _UNUSUAL.finditer(text):
        at, character = match.start(), match[0]
        if not character.isalpha():
            continue
        greek = is_greek(character)
        if not greek and is_supported_text(fold(character)) and not _in_kana(text, at):
            continue
        if greek and _greek_run(text, at) <= _GREEK_RUN:
            continue
        script = _script_name(character)
        raise UnsupportedLanguage(script, _sample(text, at), offset + at)


def _in_kana(text: str, at: int) -> bool:
    return text[at] == "の" and any(
        "\u3041" <= c <= "\u30ff" and c != "・"
        for c in text[max(at - 1, 0) : at] + text[at + 1 : at + 2]
    )


def _greek_run(text: str, at: int) -> int:
    first, last = at, at + 1
    while first > 0 and at - first <= _GREEK_RUN and is_greek(text[first - 1]):
        first -= 1
    while last < len(text) and last - at <= _GREEK_RUN and is_greek(text[last]):
        last += 1
    return last - first


def _script_name(character: str) -> str:
    name = unicodedata.name(character, "Unknown")
    return name.split("-")[0].split()[0].title()


def _sample(text: str, at: int) -> str:
    end = at + 1
    while end < len(text) and end - at < 12 and (text[end].isalpha() or combining(text[end])):
        end += 1
    return text[at:end]
