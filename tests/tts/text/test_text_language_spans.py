"""Which language each part of a text is spoken in."""

import pytest

from tts.text.controls import CONTROL_TOKENS
from tts.text.errors import UnsupportedLanguage
from tts.text.segment import Language
from tts.text.split import Segmenter, segment_text
from tts.text.validate import text_validate

ZH, EN = Language.ZH, Language.EN


def spans(text: str) -> list[tuple[Language, str]]:
    return [(x.language, text[x.start : x.end]) for s in segment_text(text) for x in s.spans]


def test_english_inside_chinese_keeps_its_place() -> None:
    assert spans("Kokoro 是一系列体积虽小但功能强大的 TTS 模型。") == [
        (EN, "Kokoro"),
        (ZH, "是一系列体积虽小但功能强大的"),
        (EN, "TTS"),
        (ZH, "模型。"),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我有345元钱", [(ZH, "我有345元钱")]),
        ("iPhone 15很贵", [(EN, "iPhone"), (ZH, "15很贵")]),
        ("an iPhone 15 Pro", [(EN, "an iPhone 15 Pro")]),
        ("我买了10kg苹果", [(ZH, "我买了10kg苹果")]),
        ("用GPT4吧", [(ZH, "用"), (EN, "GPT"), (ZH, "4吧")]),
        ("价格：$20", [(ZH, "价格：$20")]),
        ("他说 “hello” 了", [(ZH, "他说"), (EN, "“hello”"), (ZH, "了")]),
        ("他叫José。", [(ZH, "他叫"), (EN, "José。")]),
    ],
)
def test_neutral_characters_join_their_surroundings(
    text: str, expected: list[tuple[Language, str]]
) -> None:
    assert spans(text) == expected


@pytest.mark.parametrize(
    ("text", "script", "position"),
    [
        ("Say Привет now", "Cyrillic", 4),
        ("你好 مرحبا", "Arabic", 3),
        ("これは本です", "Hiragana", 0),
        ("テスト", "Katakana", 0),
        ("한국어", "Hangul", 0),
        ("Η Ελλάδα", "Greek", 2),
    ],
)
def test_other_scripts_are_named_with_their_place(text: str, script: str, position: int) -> None:
    with pytest.raises(UnsupportedLanguage, match="Chinese and English") as caught:
        text_validate(text, 100)
    assert (caught.value.script, caught.value.position) == (script, position)
    with pytest.raises(UnsupportedLanguage):
        segment_text(text)


def test_refused_text_leaves_the_stream_as_it_was() -> None:
    segmenter = Segmenter()
    segmenter.append("Some words ")
    with pytest.raises(UnsupportedLanguage) as caught:
        segmenter.append("и ещё")
    assert caught.value.position == 11
    segmenter.append("go on.")
    assert [s.source for s in segmenter.flush()] == ["Some words go on."]


def test_there_are_fifty_control_tokens_and_none_is_read() -> None:
    assert len(CONTROL_TOKENS) == 50
    for token in CONTROL_TOKENS:
        assert segment_text(f"[{token}]") == []
        (segment,) = segment_text(f"停顿啊[{token}]语气词啊")
        assert segment.spoken == "停顿啊语气词啊"
