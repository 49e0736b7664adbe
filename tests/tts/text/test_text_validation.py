"""What is refused, told apart and named; hostile text costs little."""

import time

import pytest

from tts.text.errors import EmptyText, InvalidCharacter, NoSpeakableText, TextTooLong
from tts.text.markup import is_speakable
from tts.text.normalise import english, mandarin
from tts.text.split import Segmenter, iter_segments, segment_text
from tts.text.validate import text_validate, text_validate_part


def test_ordinary_text_passes() -> None:
    text_validate("Hello, 世界!\tA tab\u200b, a BOM\ufeff and \x07 are harmless.", 100)


@pytest.mark.parametrize("text", ["", " \t\n", "\u3000\u200b\ufeff"])
def test_empty_text_is_told_apart(text: str) -> None:
    with pytest.raises(EmptyText):
        text_validate(text, 100)


@pytest.mark.parametrize(
    "text", ["...", "🙂", "[uv_break]", "？！", "***", "![](http://a.b/c.png)"]
)
def test_silent_text_is_told_apart(text: str) -> None:
    assert not is_speakable(text)
    with pytest.raises(NoSpeakableText):
        text_validate(text, 100)


def test_length_is_counted_in_code_points() -> None:
    text_validate("好" * 10 + "👍", 11)
    with pytest.raises(TextTooLong, match="12 characters; at most 11") as caught:
        text_validate("好" * 12, 11)
    assert (caught.value.length, caught.value.limit) == (12, 11)
    with pytest.raises(TextTooLong):
        text_validate_part("ab", 11, received=10)


@pytest.mark.parametrize(("text", "point"), [("ab\x00c", 0), ("ab\ud83dc", 0xD83D)])
def test_code_points_that_are_no_text_are_refused(text: str, point: int) -> None:
    with pytest.raises(InvalidCharacter, match="position 2") as caught:
        text_validate(text, 100)
    assert (caught.value.position, caught.value.codepoint) == (2, point)
    segmenter = Segmenter()
    segmenter.append("abc")
    with pytest.raises(InvalidCharacter, match="position 5"):
        segmenter.append(text)


def test_unusual_spaces_and_controls_keep_words_and_places() -> None:
    text = "\ufeffHello\u00a0\u2003wor\u200bld\u202e, \x1b你\u3000好"
    (segment,) = segment_text(text)
    assert segment.spoken == "Hello world, 你好"
    assert segment.source == text[segment.start : segment.end]


_HOSTILE = [
    *("[" * 5000, "](" * 2500, "![" * 2500, "[a](" * 1250, "<a " * 1600, "<!--" * 1250, "&" * 5000),
    *("*" * 5000, "_" * 5000, "`" * 5000, "~" * 5000, "- " * 2500, "#" * 5000, "> " * 2500),
    *("1" * 5000, "1," * 2500, "1." * 2500, "1:" * 2500, "1/" * 2500, "1-" * 2500, "1 " * 2500),
    *("$1" * 2500, "a@" * 2500, "a." * 2500, "www." * 1250, "http://" * 700, "+1 " * 1600),
    *("." * 5000, "!?" * 2500, "'" * 5000, '"' * 5000, " " * 5000 + "a", "\n" * 5000 + "a"),
    *("a" + " " * 5000 + "b", "，1" * 2500, "1点" * 2500, "1%" * 2500, "e\u0301" * 2500),
    *(
        "a" + "\u0301" * 5000,
        "U.S." * 1250,
        "1,000" * 1000,
        "—" * 5000,
        "1e" * 2500,
        "年1月" * 1600,
    ),
    *("[laugh]" * 700, "$5 [laugh] million " * 260, "一[laugh]1" * 500, "[laugh" * 800),
    *("[x](a" + "b" * 4995, "](https://a.b/[laugh])" * 220, "[speed_1]" * 550),
    *("|" * 5000, "|-" * 2500, "1st" * 1600, "\u200d" * 5000, "👩\u200d" * 2500, "A1" * 2500),
]


@pytest.mark.parametrize("text", _HOSTILE, ids=range(len(_HOSTILE)))
def test_hostile_text_is_segmented_in_bounded_time(text: str) -> None:
    started = time.process_time()
    is_speakable(text)
    segment_text(text)
    assert time.process_time() - started < 3.0


@pytest.mark.parametrize("text", ["[laugh]" * 700, "[x](a" + "b" * 4995, "[a" * 2500])
def test_hostile_brackets_one_by_one_cost_little(text: str) -> None:
    segmenter = Segmenter()
    started = time.process_time()
    for character in text:
        segmenter.append(character)
    segmenter.flush()
    assert time.process_time() - started < 3.0


@pytest.mark.parametrize("text", _HOSTILE, ids=range(len(_HOSTILE)))
def test_hostile_text_straight_to_the_english_rules(text: str) -> None:
    started = time.process_time()
    english.normalise(text)
    assert time.process_time() - started < 2.0


@pytest.mark.parametrize("text", ["1-" * 400, "1." * 400, "$1" * 400, "1%" * 400, "~1" * 400])
def test_hostile_text_straight_to_the_chinese_rules(text: str) -> None:
    started = time.process_time()
    mandarin.normalise(text)
    assert time.process_time() - started < 2.0


def test_long_digits_straight_to_the_chinese_rules() -> None:
    started = time.process_time()
    assert mandarin.normalise("1" * 5000) == "一" * 5000
    assert time.process_time() - started < 2.0


def test_five_thousand_characters_cost_little_and_the_first_segment_almost_nothing() -> None:
    text = "The quick brown fox jumps over 13 lazy dogs, and they cost $5.30 each. " * 70
    segment_text(text)
    started = time.process_time()
    next(iter_segments(text))
    first = time.process_time() - started
    segment_text(text)
    assert first < 0.1
    assert time.process_time() - started < 1.0
