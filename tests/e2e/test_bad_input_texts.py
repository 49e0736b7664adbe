"""Texts that cannot be spoken are refused with a reason; odd ones are spoken, and quickly."""

import time

import pytest

from tests.e2e.bad_input import LONGEST, Target, error_of

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("platform")]

MOST_SECONDS = 8.0
"""For the longest text on two busy cores; what a regular expression exhausts takes hours."""


def test_text_is_spoken(target: Target) -> None:
    response = target.post()
    assert response.status_code == 200
    assert response.headers["x-quality-tier"] == "wide-open"
    assert len(response.content) > 4_000


@pytest.mark.parametrize("text", ["", " ", "\t\r\n", "\u3000\u00a0\u2003\u200b\ufeff\u2060"])
def test_blank_text(target: Target, text: str) -> None:
    message = error_of(target.post(input=text), 400, "missing_required_parameter", "input")
    assert "at least one letter or digit" in message


@pytest.mark.parametrize(
    "text",
    ["...", "?!,;:-—…", "。，！？、", "🙂", "👍🏽👩‍👩‍👧‍👦🇩🇪", "\u0301" * 50,
     "[uv_break][laugh]", "\u202e\u200f.", "\ue000"],
    ids=["dots", "marks", "chinese-marks", "emoji", "sequences", "accents",
         "tokens", "directions", "private"],
)  # fmt: skip
def test_text_without_anything_to_say(target: Target, text: str) -> None:
    message = error_of(target.post(input=text), 400, "no_speakable_text", "input")
    assert "nothing that can be spoken" in message


def test_text_over_the_tiers_limit(target: Target) -> None:
    message = error_of(
        target.post("narrow", input="a" * 2_001, quality_tier=None),
        400,
        "string_above_max_length",
        "input",
    )
    assert "2001" in message.replace(",", "")
    assert "2000" in message.replace(",", "")
    # A code point counts as one, whatever its bytes.
    response = target.post("narrow", input="好" * 2_000, quality_tier=None)
    assert response.status_code == 200


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [("a\0b", "invalid_character", "position 1"), ("a \x00", "invalid_character", "U+0000")],
)
def test_character_that_is_no_text(target: Target, text: str, code: str, says: str) -> None:
    assert says in error_of(target.post(input=text), 400, code, "input")


def test_control_token_that_does_not_exist(target: Target) -> None:
    response = target.post(input="Hello [laugh_7] you.")
    message = error_of(response, 400, "invalid_control_token", "input")
    assert "[laugh_0] to [laugh_2]" in message


@pytest.mark.parametrize(
    ("text", "script"),
    [("Привет, мир", "Cyrillic"), ("مرحبا", "Arabic"),
     ("こんにちは", "Hiragana"), ("안녕", "Hangul")],
)  # fmt: skip
def test_script_that_no_voice_speaks(target: Target, text: str, script: str) -> None:
    message = error_of(target.post(input=text), 400, "unsupported_language", "input")
    assert script in message
    assert "Chinese and English" in message


def test_language_that_the_voice_does_not_speak(target: Target) -> None:
    response = target.post(voice="english-only", input="你好，世界。")
    message = error_of(response, 400, "language_not_supported", "voice")
    assert "'english-only' does not speak 'zh'" in message
    assert "tone-a" in message
    stated = target.post(voice="english-only", language="zh")
    assert "tone-a" in error_of(stated, 400, "language_not_supported", "voice")


@pytest.mark.parametrize(
    "text",
    [
        "One\u00a0two\u2003three\u3000four\u2028five\u2029six\u0085seven",
        "bell\x07 escape\x1b[31m delete\x7f tab\t vertical\x0b form\x0c",
        "\ufeffmark\u200binside\u2060words\u00ad",
        "\u202eright to left\u202c \u2066isolated\u2069",
        "Ｆｕｌｌ－ｗｉｄｔｈ　１２３",
        "z" + "\u0301" * 500 + "algo",
    ],
    ids=["spaces", "controls", "zero-width", "directions", "full-width", "zalgo"],
)
def test_odd_characters_are_spoken_around(target: Target, text: str) -> None:
    assert target.post(input=text).status_code == 200


@pytest.mark.parametrize(
    "text",
    ["a" * LONGEST, "word " * (LONGEST // 5), "好" * LONGEST, "今天天气很好" * (LONGEST // 6)],
    ids=["one-word", "english", "one-chinese-character", "chinese"],
)
def test_longest_text_without_punctuation(target: Target, text: str) -> None:
    spent = spoken_until_first_audio(target, text)
    assert spent < MOST_SECONDS


@pytest.mark.parametrize(
    "unit",
    [
        "1", "1,", "1.", "1-", "1:", "1/", "$1", "1%", "+1 ", "0x", "12:30", "2020-01-", "1年1月",
        "a.", "A.", "e.g.", "http://", "www.", "a@b.", "@", "//", "C:\\",
        "(", "[", "](", "![", "*", "_", "`", "#", "<a ", "&amp", "|", "[uv_", "\n1. ",
        " ", "…", "'", "\u0301", "\u200d", "😀", "三分之", "零", "十",
    ],
)  # fmt: skip
def test_no_regular_expression_is_exhausted(target: Target, unit: str) -> None:
    text = "a" + (unit * LONGEST)[: LONGEST - 2] + "!"
    assert spoken_until_first_audio(target, text) < MOST_SECONDS


def spoken_until_first_audio(target: Target, text: str) -> float:
    """Seconds until the first audio of `text`; the rest is not waited for."""
    begun = time.monotonic()
    with target.stream(input=text) as response:
        assert response.status_code == 200, response.read()
        assert next(response.iter_raw())
        return time.monotonic() - begun
