"""What is spoken for what is written: a table of both languages."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tts.text.segment import Language
from tts.text.split import segment_text

_TABLE = Path(__file__).with_name("golden.tsv")
_CASES = [line.split("\t") for line in _TABLE.read_text(encoding="utf-8").splitlines()]


def spoken(text: str, language: Language | None = None) -> str:
    return " ".join(segment.spoken for segment in segment_text(text, language))


@pytest.mark.parametrize(("text", "expected"), _CASES, ids=[case[0] for case in _CASES])
def test_written_text_is_read_as_a_person_reads_it(text: str, expected: str) -> None:
    assert spoken(text) == expected


@pytest.mark.parametrize("text", [case[0] for case in _CASES])
def test_spans_of_what_is_read_lie_in_the_text_one_after_the_other(text: str) -> None:
    place = 0
    for segment in segment_text(text):
        for span in segment.spans:
            assert place <= span.start < span.end <= len(text)
            place = span.end


def test_table_covers_both_languages_well() -> None:
    assert len(_CASES) >= 120


def test_only_words_and_a_few_marks_come_out() -> None:
    allowed = re.compile(r"[A-Za-z .,!?;:'\-\u3400-\u9fff，。！？；：、]*")
    for text, _ in _CASES:
        assert allowed.fullmatch(spoken(text)), text


@pytest.mark.parametrize(
    ("hint", "expected"), [(Language.ZH, "三百四十五"), (Language.EN, "three hundred forty-five")]
)
def test_text_without_letters_takes_the_callers_language(hint: Language, expected: str) -> None:
    assert spoken("345", hint) == expected


def test_number_alone_takes_the_language_before_it() -> None:
    last = segment_text("我有很多很多的钱。\n\n345.")[-1]
    assert (last.source, last.spoken) == ("345.", "三百四十五。")


def test_several_threads_read_the_same() -> None:
    texts = [case[0] for case in _CASES[:40]]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: [spoken(text) for text in texts], range(4)))
    assert all(result == results[0] for result in results)
