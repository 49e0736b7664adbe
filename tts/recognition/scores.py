"""How much of what was to be said was not understood: error rates of transcripts.

An error rate is (substitutions + deletions + insertions) over the expected tokens, of all texts
together; 0.0 is perfect, and what is invented can make it more than 1.0. The tokens are words in
English, without case and punctuation, and syllables in Chinese: each character's pinyin without
tone, of simplified characters, with an English word in between for one token. Numbers are
written out in both.

二 and 两 are different syllables, and each is wrong in the other's place (第两个, 二个). They count
as one where that cannot be known or does not matter: in a number that the transcript has in
digits, and before 百, 千, 万 and 亿, where people say either.

Write expected texts without digits where you can: "twenty twenty-six" and "2026" do not meet.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

import jiwer

from tts.recognition.numerals import english_number, mandarin_number

_WORD = re.compile(r"[a-z]+(?:'[a-z]+)*|\d+")
_HAN_OR_WORD = re.compile("[\u3400-\u9fff]+|[a-z]+(?:'[a-z]+)*")
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)[%％]")
_YEAR = re.compile(r"\d{4}(?=年)")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
# A rare form of 二, of the same sound, stands for a two that may be said either way.
_EITHER_TWO = "弍"
_TWO_BEFORE_SCALE = re.compile("[二两](?=[百千万亿])")


@dataclass(frozen=True, slots=True)
class _Token:
    """What is compared; `two` tells 二 and 两 apart, "" where either will do."""

    sound: str
    two: str = ""


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
    expected: Sequence[str], heard: Sequence[str], tokens: Callable[[str], list[_Token]]
) -> float:
    references = [tokens(text) for text in expected]
    for text, reference in zip(expected, references, strict=True):
        if not reference:
            raise ValueError(f"there is nothing to be heard in {text!r}")
    answers = [tokens(text) for text in heard]
    found = jiwer.process_words(
        [" ".join(token.sound for token in reference) for reference in references],
        [" ".join(token.sound for token in answer) for answer in answers],
    )
    wrong = found.substitutions + found.deletions + found.insertions
    for reference, answer, chunks in zip(references, answers, found.alignments, strict=True):
        wrong += _wrong_twos(reference, answer, chunks)
    return wrong / len(list(chain(*references)))


def _wrong_twos(
    reference: Sequence[_Token], answer: Sequence[_Token], chunks: Sequence[jiwer.AlignmentChunk]
) -> int:
    """How often 二 was heard for 两, or 两 for 二."""
    pairs = chain.from_iterable(
        zip(
            reference[chunk.ref_start_idx : chunk.ref_end_idx],
            answer[chunk.hyp_start_idx : chunk.hyp_end_idx],
            strict=True,
        )
        for chunk in chunks
        if chunk.type == "equal"
    )
    return sum(bool(said.two and meant.two and said.two != meant.two) for meant, said in pairs)


def _words(text: str) -> list[_Token]:
    text = re.sub(r"(?<=\d),(?=\d{3})", "", text.lower().replace("’", "'"))
    words: list[str] = []
    for word in _WORD.findall(text):
        words += english_number(int(word)) if word.isdigit() else [word]
    return [_Token(word) for word in words]


def _syllables(text: str) -> list[_Token]:
    from opencc import OpenCC
    from pypinyin import lazy_pinyin

    text = OpenCC("t2s").convert(text).lower()
    text = _PERCENT.sub(lambda match: f"百分之{match[1]}", text)
    text = _YEAR.sub(lambda match: _digits(match[0]), text)
    text = _NUMBER.sub(lambda match: _mandarin(match[0]), text)
    text = _TWO_BEFORE_SCALE.sub(_EITHER_TWO, text)
    tokens: list[_Token] = []
    for run in _HAN_OR_WORD.findall(text):
        if run[0].isascii():
            tokens.append(_Token(run))
        else:
            # Han that pypinyin does not know would come out as one run.
            sounds = lazy_pinyin(run, errors=lambda unknown: " ".join(unknown))
            tokens += map(_syllable, run, " ".join(sounds).split())
    return tokens


def _syllable(character: str, sound: str) -> _Token:
    if character in {"二", "两", _EITHER_TWO}:
        return _Token("er", "" if character == _EITHER_TWO else character)
    return _Token(sound, "二" if sound == "er" else "")


def _digits(text: str) -> str:
    return "".join(mandarin_number(int(digit)) for digit in text).replace("二", _EITHER_TWO)


def _mandarin(number: str) -> str:
    whole, _, decimals = number.partition(".")
    point = "点" + _digits(decimals) if decimals else ""
    return mandarin_number(int(whole)).replace("二", _EITHER_TWO) + point
