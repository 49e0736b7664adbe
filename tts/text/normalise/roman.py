"""Roman numerals, where a word beside them says that they are numbers."""

import re

from tts.text.normalise.english_numbers import cardinal, ordinal

_VALUES = (
    (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
)  # fmt: skip
_NUMERAL = r"(?:XL|L?X{0,3})(?:IX|IV|V?I{0,3})"
_LONG = rf"(?=[IVXL]{{2}}){_NUMERAL}"
_LATER = rf"(?=[IVXL]{{2}}|[VX]){_NUMERAL}"  # any but a lone I, which is a word
_FIRST = r"I(?=\s*(?:[.,;:!?)]|$)|\s+(?:of|and|was)\b)"
_END = r"(?!\w|['’](?!s\b)|-[A-Za-z])"
_HEADINGS = (
    "Chapter|Part|Section|Book|Volume|Act|Scene|Canto|Article|Appendix|Phase|Stage|Unit|Lesson|"
    "Episode|Season|World War|Super Bowl|Final Fantasy|Apollo|Rocky"
)
_KINDS = "Type|Class|Grade|Level|Mark|Model|Figure|Table|Tier|Category|Division|Group"
_NAMES = (
    "Albert|Alexander|Alexios|Alfonso|Benedict|Boniface|Catherine|Charles|Christian|Clement|"
    "Constantine|Cyrus|Darius|Edward|Elizabeth|Ferdinand|Francis|Frederick|Frederik|George|"
    "Gregory|Gustav|Haakon|Harald|Henry|Innocent|Ivan|James|John|John Paul|Leo|Leopold|Louis|"
    "Mary|Mehmed|Murad|Napoleon|Nicholas|Olav|Otto|Paul|Peter|Philip|Philippe|Pius|Ptolemy|"
    "Ramesses|Ramses|Richard|Robert|Selim|Sixtus|Suleiman|Theodosius|Urban|Victor Emmanuel|"
    "Wilhelm|William|Xerxes"
)
_HEADED = re.compile(rf"\b({_HEADINGS}) ({_LATER}|{_FIRST}){_END}")
_OF_A_KIND = re.compile(rf"\b({_KINDS}) ({_LONG}){_END}")
_NAMED = re.compile(rf"\b({_NAMES}) ({_LATER}|{_FIRST}){_END}")
_CENTURY = re.compile(rf"\b({_LATER})(?= (?:century|centuries)\b)")
_CANDIDATE = re.compile(r"(?<![A-Za-z])[IVXL]+(?![A-Za-z])")
CHINESE_NUMERAL = re.compile(
    rf"(?<=第)(\s?)({_LATER}|I)(?=\s?[章节節部卷篇回集季幕册期届条编课讲次场世])"
    rf"|(?<![A-Za-z0-9])(\s?)({_LONG})(?=\s?[世期级型类])"
)
"""A numeral between Chinese characters that say that it is one ("第III章")."""


def value_of(numeral: str) -> int:
    """The value of a well-formed numeral below 90: "XIV" -> 14."""
    value = 0
    for worth, sign in _VALUES:
        while numeral.startswith(sign):
            value, numeral = value + worth, numeral[len(sign) :]
    return value


def read_english(text: str) -> str:
    """Words for numerals: "Chapter IV" -> "Chapter four", "Louis XIV" -> "Louis the fourteenth"."""
    if not _CANDIDATE.search(text):
        return text
    text = _HEADED.sub(_cardinal, text)
    text = _OF_A_KIND.sub(_cardinal, text)
    text = _NAMED.sub(lambda match: f"{match[1]} the {ordinal(value_of(match[2]))}", text)
    return _CENTURY.sub(lambda match: ordinal(value_of(match[1])), text)


def _cardinal(match: re.Match[str]) -> str:
    return f"{match[1]} {cardinal(value_of(match[2]))}"


def chinese_digits(match: re.Match[str]) -> str:
    """The digits for a match of `CHINESE_NUMERAL`."""
    return str(value_of(match[2] or match[4]))
