"""A flush of whole words keeps back the word that may still go on, and nothing else."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tts.text.split import Segmenter, segment_text


@pytest.mark.parametrize(
    ("text", "spoken", "kept"),
    [
        ("It is unbeliev", "It is", "unbeliev"),
        ("It is over ", "It is over", ""),
        ("It is over.", "It is over.", ""),
        ("Is it over?", "Is it over?", ""),
        ("今天天气很", "今天天气很", ""),
        ("今年是2026", "今年是", "2026"),
        ("这是 TT", "这是", "TT"),
        ("I have 3 app", "I have", "3 app"),
        ("It costs $5.", "It costs", "$5."),
        ("See example.", "See example.", ""),
        ("See www.", "See", "www."),
        ("At 9:", "At", "9:"),
        ("He said, \"don'", "He said,", "\"don'"),
        ('He said, "Stop."', 'He said, "Stop."', ""),
        ("Great 🎉", "Great 🎉", ""),
        ("well-", "", "well-"),
        ("Hello [lau", "Hello", "[lau"),
        ("Hello [laugh]", "Hello [laugh]", ""),
        ("Hello", "", "Hello"),
        ("", "", ""),
    ],
)
def test_whole_words_are_flushed(text: str, spoken: str, kept: str) -> None:
    segmenter = Segmenter()
    made = segmenter.append(text) + segmenter.flush_words()
    assert " ".join(segment.source for segment in made) == spoken
    assert [segment.source for segment in segmenter.flush()] == ([kept] if kept else [])


def test_a_word_that_was_kept_is_spoken_whole() -> None:
    segmenter = Segmenter()
    segmenter.append("It is unbeliev")
    said = segmenter.flush_words()
    said += segmenter.append("able, is it not")
    said += segmenter.flush_words()
    said += segmenter.append("? Yes.") + segmenter.flush()
    assert [segment.source for segment in said] == ["It is", "unbelievable, is it", "not? Yes."]
    whole = "It is unbelievable, is it not? Yes."
    assert all(whole[segment.start : segment.end] == segment.source for segment in said)


_TOKENS = st.sampled_from(
    [
        *("unbeliev", "able", "the", "don't", "example.com", "3.14", "$5.30", "9:30PM", "2,000"),
        *("今天", "天气", "我有345元", "TTS", "Dr.", "U.S."),
        *(" ", " ", " ", ". ", ", ", "! ", "。", "，", "\n", "-", "'", '"', "(", ") ", "🎉", "…"),
    ]
)
_TEXTS = st.lists(_TOKENS, max_size=40).map("".join)
_WORD = re.compile(r"[A-Za-z]+|[0-9]+(?:[.,:][0-9]+)*")


@settings(max_examples=150, deadline=None)
@given(_TEXTS, st.lists(st.integers(0, 300), max_size=6))
def test_no_word_is_cut_and_none_is_lost(text: str, idle_after: list[int]) -> None:
    segmenter = Segmenter()
    made = []
    for place, character in enumerate(text):
        made += segmenter.append(character)
        if place in idle_after:
            made += segmenter.flush_words()
    made += segmenter.flush()
    # Where no flush asked for it, a word may be cut because it is too long.
    cut_anyway = {segment.start for segment in segment_text(text)}
    inside = {place for word in _WORD.finditer(text) for place in range(*word.span())[1:]}
    assert not (inside - cut_anyway) & {segment.start for segment in made}
    covered = {
        place for segment in made for span in segment.spans for place in range(span.start, span.end)
    }
    assert {place for place, character in enumerate(text) if character.isalnum()} <= covered
