"""How much of what was to be said was not understood: error rates of transcripts.

An error rate is (substitutions + deletions + insertions) over the expected tokens, of all texts
together; 0.0 is perfect, and what is invented can make it more than 1.0. The tokens are words in
English, without case and punctuation, and syllables in Chinese: each character's pinyin without
tone, of simplified characters, with an English word in between for one token. Numbers are
written out in both.

Write expected texts without digits where you can: "twenty twenty-six" and "2026" do not meet.
"""

import re
from collections.abc import Callable, Sequence

import jiwer

from tts.recognition.numerals import english_number, mandarin_number

_WORD = re.compile(r"[a-z]+(?:'[a-z]+)*|\d+")
_HAN_OR_WORD = re.compile("[\u3400-\u9fff]+|[a-z]+(?:'[a-z]+)*")
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)[%％]")
_YEAR = re.compile(r"\d{4}(?=年)")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def word_errors(expected: Sequence[str], heard: Sequence[str]) -> float:
    """The error rate of English texts, in words; raises ValueError for a text without any."""
    return _errors(expected, heard, _words)


def syllable_errors(expected: Sequence[str], heard: Sequence[str]) -> float:
    """The error rate of Chinese texts, in syllables; raises ValueError for a text without any."""
    return _errors(expected, heard, _syllables)


ERROR_RATES: dict[str, Callable[[Sequence[str], Sequence[str]], float]] = {
    "zh": syllable_errors,
    "en": word_errors,
}
"""By language."""


def _errors(
    expected: Sequence[str], heard: Sequence[str], tokens: Callable[[str], list[str]]
) -> float:
    references = [" ".join(tokens(text)) for text in expected]
    for text, reference in zip(expected, references, strict=True):
        if not reference:
            raise ValueError(f"there is nothing to be heard in {text!r}")
    return float(jiwer.wer(references, [" ".join(tokens(text)) for text in heard]))


def _words(text: str) -> list[str]:
    text = re.sub(r"(?<=\d),(?=\d{3})", "", text.lower().replace("’", "'"))
    words: list[str] = []
    for word in _WORD.findall(text):
        words += english_number(int(word)) if word.isdigit() else [word]
    return words


def _syllables(text: str) -> list[str]:
    from opencc import OpenCC
    from pypinyin import lazy_pinyin

    text = OpenCC("t2s").convert(text).lower()
    text = _PERCENT.sub(lambda match: f"百分之{match[1]}", text)
    text = _YEAR.sub(lambda match: "".join(mandarin_number(int(d)) for d in match[0]), text)
    text = _NUMBER.sub(lambda match: _mandarin(match[0]), text).replace("两", "二")
    syllables: list[str] = []
    for run in _HAN_OR_WORD.findall(text):
        syllables += [run] if run[0].isascii() else lazy_pinyin(run)
    return syllables


def _mandarin(number: str) -> str:
    whole, _, decimals = number.partition(".")
    point = "点" + "".join(mandarin_number(int(digit)) for digit in decimals) if decimals else ""
    return mandarin_number(int(whole)) + point
