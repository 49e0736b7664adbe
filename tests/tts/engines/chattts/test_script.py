"""What ChatTTS is given to read: only characters that it knows, and nothing lost."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tts.engines.chattts.script import script
from tts.text.segment import Language, LanguageSpan, Mark, Segment
from tts.text.split import segment_text

_KNOWN = re.compile(r"(?:[a-z，。、,. 一-鿿]|\[(?:laugh|uv_break|v_break|lbreak)\])*")


def read(text: str) -> str:
    return " ".join(script(segment) for segment in segment_text(text))


def by_hand(spoken: str, *marks: Mark, language: Language = Language.EN) -> Segment:
    span = LanguageSpan(language, spoken, 0, len(spoken))
    return Segment(0, spoken, (span,), 0, len(spoken), marks)


def test_words_and_tokens_are_given_in_order() -> None:
    text = "What is [uv_break]your favorite english food?[laugh][lbreak]"
    assert read(text) == "what is[uv_break] your favorite english food.[laugh][lbreak]"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I have 3 cats, 42% off! Isn't it?", "i have three cats, forty two percent off. isnt it."),
        ("12345", "twelve thousand three hundred forty five"),
        ("他说：“真的吗？”——太好了！", "他说，真的吗。 太好了。"),
        ("增长了50%；好", "增长了百分之五十，好"),
        ("苹果、梨", "苹果、梨"),
        ("这个TTS模型用GPU", "这个 t t s 模型用 g p u"),
        ("NASA and HTML and PDFs", "nasa and h t m l and p d f s"),
        ("the GPU's fans, NASA's and IT'S", "the g p u s fans, nasas and its"),
        ("It is NOT OK", "it is not o k"),
        ("PLEASE GO HOME NOW", "please go home now"),
        ("at 9:30 PM in the U.S. today", "at nine thirty p m in the u s today"),
        ("一个[note]括号", "一个 note 括号"),
    ],
)
def test_text_is_fully_spoken(text: str, expected: str) -> None:
    assert read(text) == expected


def test_text_spells_no_special_token() -> None:
    assert script(by_hand("[Ptts] [ laugh ] [[laugh]] [spk_emb]")) == ("ptts laugh laugh spk emb")
    assert "[" not in read(r"\[laugh] ［Ptts］ 【spk_emb】 <laugh>")


def test_marks_out_of_order_lose_no_text() -> None:
    segment = by_hand("One two", Mark("laugh", 3), Mark("lbreak", 3), Mark("v_break", 9))
    assert script(segment) == "one[laugh][lbreak] two[v_break]"


def test_rare_characters_are_replaced_by_ones_that_sound_the_same() -> None:
    assert script(by_hand("㐀㐫你", language=Language.ZH)) == "秋兄你"
    assert script(by_hand("㐂𠮷你", language=Language.ZH)) == "喜吉你"
    assert script(by_hand("𠀂你", language=Language.ZH)) == "某你"


def test_characters_outside_the_vocabulary_are_replaced_within_it() -> None:
    assert script(by_hand("妳好壹", language=Language.ZH), frozenset("好拟一")) == "拟好一"
    assert script(by_hand("猫好", language=Language.ZH), frozenset("好")) == "好"


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=60), st.sampled_from(Language))
def test_nothing_but_known_characters_comes_out(text: str, language: Language) -> None:
    assert _KNOWN.fullmatch(script(by_hand(text, Mark("laugh", len(text)), language=language)))
