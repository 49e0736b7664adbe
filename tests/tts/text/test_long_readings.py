"""Text that is short to write and long to say makes segments of bearable length."""

import pytest

from tts.text.segment import Segment
from tts.text.sizes import SCALE, size_of
from tts.text.split import SplitConfig, segment_text

_MOST = 1.25 * SplitConfig().max_chars


def letters(segment: Segment) -> float:
    return sum(map(size_of, segment.spoken)) / SCALE


def test_long_readings_are_cut_between_their_words() -> None:
    text = "It cost $7,777,777.77 and then $8,888,888.88, and $9,999,999.99 in the end of it all."
    segments = segment_text(text, config=SplitConfig(first_max_chars=200))
    said = " ".join(segment.spoken for segment in segments)
    assert said.count("seventy-seven cents") == said.count("ninety-nine cents") == 1
    assert len(segments) > 1
    assert all(letters(segment) <= _MOST for segment in segments)
    assert all(segment.spoken[-1] in ",." for segment in segments)


@pytest.mark.parametrize(
    "text",
    [
        "It cost $7,777,777.77 and 17:37 and 77% of 7,777 km/h on 2024-11-27 " * 5,
        "号码1234567890123456789012345678901234567890和777777777777777777777777777777" * 4,
        "go to https://www.example.com/a.b/c-d_e?f=1&g=22&h=7777#x/yz/a-b-c-d/e_f_g and " * 5,
        "今天天气很好我们一起去公园散步然后看见许多美丽的花朵和高大的树木" * 6,
        "NASA USA TTS GPU CPU RAM WWW XWZ FBI CIA HTTP XML JSON YAML HTML CSS " * 10,
        "a+b=c & d@e % x+y+z = & + = @ & + = " * 15,
    ],
)
def test_no_segment_is_long_to_say(text: str) -> None:
    segments = segment_text(text)
    assert all(letters(segment) <= _MOST for segment in segments)
    assert all(s.source == text[s.start : s.end] for s in segments)


def test_parts_say_what_the_whole_says_and_lie_in_order() -> None:
    text = "[laugh]Pay 17,777,777元[v_break]或者$7,777,777.77[lbreak]。"
    whole = segment_text(text, config=SplitConfig(max_chars=2000, first_max_chars=2000))
    parts = segment_text(text, config=SplitConfig(max_chars=44, first_max_chars=44))
    assert len(whole) == 1 < len(parts)
    said = "".join(segment.spoken for segment in parts)
    assert said.replace(" ", "") == whole[0].spoken.replace(" ", "")
    assert [mark.token for segment in parts for mark in segment.marks] == [
        "laugh",
        "v_break",
        "lbreak",
    ]
    ends = [0, *(segment.end for segment in parts)]
    assert [segment.start for segment in parts] == ends[:-1]
    assert ends[-1] == len(text)


def test_text_too_short_to_be_cut_stays_whole() -> None:
    (segment,) = segment_text("9x9", config=SplitConfig(max_chars=20, first_max_chars=10))
    assert segment.source == "9x9"
