"""Which parts of a text are Chinese and which English, by script.

Letters decide. Digits, symbols and marks take the language around them: a
number between two languages, or at the edge of a Chinese sentence, is read in
Chinese ("我买了iPhone 15" -> 十五), one inside an English phrase in English
("an iPhone 15 Pro"); a number glued to Latin letters belongs to that word
("GPT4", "3D"), unless the letters are a unit ("10kg") or Chinese is beside it, of
which `tts.text.codes` makes Chinese first ("A4纸" -> A 四纸). An amount in English
words ("$5.3 billion") is English with its number.
"""

import re
from dataclasses import dataclass
from itertools import pairwise

from tts.text.characters import GREEK_NAMES
from tts.text.normalise.units import CURRENCIES, UNITS, alternatives
from tts.text.segment import Language

DEFAULT_LANGUAGE = Language.EN
"""For text without letters, where neither the caller nor the text before it tells."""

_GREEK = "".join(GREEK_NAMES) + "".join(GREEK_NAMES).upper()
_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af々〇"
_NUMBER = r"\d+(?:[.,:/x×*]\d+)*"
_UNIT = alternatives({key: unit for key, unit in UNITS.items() if unit.zh})
_CODES = alternatives(CURRENCIES)
_AMOUNT = r"\d{1,40}(?:[.,]\d{1,40}){0,8}"
_TOKEN = re.compile(
    rf"(?P<address>(?:https?://|www\.)[!-~]{{1,2000}}|[A-Za-z0-9_.+-]{{1,64}}@[A-Za-z0-9.-]{{3,200}})"
    rf"|(?P<scaled>(?:(?<![A-Za-z])(?:{_CODES})\s?|(?<![A-Za-z\d.,:/]))(?:{_AMOUNT}\s?[-–—~～]\s?)?{_AMOUNT}"
    r"\s?(?:thousand|[mb]illion|trillion)(?![A-Za-z]))"
    rf"|(?P<number>(?:(?<![A-Za-z])(?:{_CODES})\s?|(?<![A-Za-z])){_NUMBER}"
    rf"(?:\s?(?:{_UNIT}|{_CODES}|[AaPp]\.?[Mm]|[kKw]|°\s?[CF]?)"
    r"(?![A-Za-z0-9²³]))?(?![.,:/]?\d)(?![A-Za-z]))"
    r"|(?P<latin>(?:\d{1,40}(?:\.\d{1,40})?(?=[A-Za-z]))?[A-Za-z][A-Za-z0-9]*(?:['.\-_/+&][A-Za-z0-9]+)*"
    r"(?:(?<=(?<![A-Za-z0-9])[A-G])#(?![A-Za-z0-9]))?)"
    rf"|(?P<han>[{_HAN}]+)"
    rf"|(?P<greek>[{_GREEK}]+|\d+)"
)
_OPENERS = frozenset("([{<（［【《〈「『“‘\"'#@*_")
_SIGNS = frozenset("$€£¥₹₩+-±≈~<>≤≥=×÷/:–—−√")
_CHINESE_MARKS = re.compile("[，。！？；：、「」《》【】（）¥]")


@dataclass(frozen=True, slots=True)
class Run:
    """`text[start:end]` is in `language`."""

    language: Language
    start: int
    end: int


@dataclass(slots=True)
class _Token:
    language: Language | None
    start: int
    end: int


def language_runs(
    text: str, *, hint: Language | None = None, before: Language | None = None
) -> list[Run]:
    """The language runs of a folded text, in order, without white space at their borders.

    `hint` is what the caller says, `before` the language of the text before
    this; they decide only for text without letters. Runs without a letter or
    digit are never made.
    """
    tokens = _tokens(text)
    if not tokens:
        return []
    _resolve(tokens, hint or _marks_say(text) or before or DEFAULT_LANGUAGE)
    return _merge(text, tokens)


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    for match in _TOKEN.finditer(text):
        language: Language | None = None
        if match.lastgroup == "han":
            language = Language.ZH
        elif match.lastgroup in {"latin", "address", "scaled"}:
            language = Language.EN
        tokens.append(_Token(language, match.start(), match.end()))
    return tokens


def _marks_say(text: str) -> Language | None:
    return Language.ZH if _CHINESE_MARKS.search(text) else None


def _resolve(tokens: list[_Token], fallback: Language) -> None:
    strong = [token.language for token in tokens]
    known = set(strong) - {None}
    if len(known) < 2:
        only = next(iter(known), None) or fallback
        for token in tokens:
            token.language = only
        return
    following: list[Language | None] = [None] * len(tokens)
    for i in range(len(tokens) - 2, -1, -1):
        following[i] = strong[i + 1] or following[i + 1]
    previous: Language | None = None
    words = 0
    for i, token in enumerate(tokens):
        if token.language is None:
            in_phrase = following[i] is None and words > 1
            english = previous is Language.EN or previous is None
            token.language = (
                Language.EN
                if english and (following[i] is Language.EN or in_phrase)
                else Language.ZH
            )
        else:
            words = words + 1 if strong[i] is Language.EN else 0
            previous = strong[i]


def _merge(text: str, tokens: list[_Token]) -> list[Run]:
    runs: list[Run] = []
    start, language = 0, tokens[0].language
    for left, right in pairwise(tokens):
        if right.language is language:
            continue
        cut = _border(text, left.end, right.start)
        runs.append(_trimmed(text, language, start, cut))
        start, language = cut, right.language
    runs.append(_trimmed(text, language, start, len(text)))
    return runs


def _border(text: str, first: int, last: int) -> int:
    """Where the neutral characters between two tokens part: openers and signs go right."""
    cut = last
    signs = last < len(text) and text[last].isdigit()
    while cut > first and (
        text[cut - 1] in _OPENERS or text[cut - 1].isspace() or (signs and text[cut - 1] in _SIGNS)
    ):
        cut -= 1
    return cut


def _trimmed(text: str, language: Language | None, start: int, end: int) -> Run:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return Run(language or DEFAULT_LANGUAGE, start, end)
