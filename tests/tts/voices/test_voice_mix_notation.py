"""The notation of a voice: a name or a mix, everything else a typed error with a position."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tts.errors import VoiceError, VoiceMixInvalid, VoiceNotFound
from tts.voice_mix import MAX_PARTS, NamedPart, voice_mix_parse

names = st.from_regex(r"[a-z0-9][a-z0-9_.-]{0,10}", fullmatch=True)


def test_mix_is_read() -> None:
    assert voice_mix_parse("af_heart(2)+zf_xiaoxiao(0.5)+am_michael") == (
        NamedPart("af_heart", 2.0, 0),
        NamedPart("zf_xiaoxiao", 0.5, 12),
        NamedPart("am_michael", 1.0, 29),
    )


def test_plain_name_is_one_part() -> None:
    assert voice_mix_parse("af_heart") == (NamedPart("af_heart", 1.0, 0),)


@given(st.lists(st.tuples(names, st.integers(1, 1000)), min_size=1, max_size=MAX_PARTS))
@settings(max_examples=50)
def test_what_is_written_is_read(parts: list[tuple[str, int]]) -> None:
    text = "+".join(f"{name}({weight})" for name, weight in parts)
    assert [(part.name, part.weight) for part in voice_mix_parse(text)] == parts


@given(st.text(max_size=40) | st.text("ab_(1)+.-0 ", max_size=20))
@settings(max_examples=100)
def test_any_text_is_parts_or_a_voice_error(text: str) -> None:
    try:
        parts = voice_mix_parse(text)
    except VoiceError:
        return
    assert 1 <= len(parts) <= MAX_PARTS
    assert all(0 < part.weight <= 1000 for part in parts)


@pytest.mark.parametrize(
    ("text", "position", "problem"),
    [
        ("a(2)+", 5, "expected a voice's name, not the end"),
        ("+a", 0, "expected a voice's name, not '+'"),
        ("a++b", 2, "expected a voice's name, not '+'"),
        ("a()+b", 2, "expected a weight"),
        ("a(-1)+b", 2, "expected a weight"),
        ("a(nan)", 2, "expected a weight"),
        ("a(inf)", 2, "expected a weight"),
        ("a(0)+b(1)", 2, "above 0"),
        ("a(1001)", 2, "at most 1000"),
        ("a(1e9)", 3, "expected ')'"),
        ("a(1", 3, "expected ')'"),
        ("a(1)b", 4, "expected '+', not 'b'"),
        ("a(1) +b", 4, "expected '+', not ' '"),
        ("a+../b", 2, "expected a voice's name"),
        ("+".join("abcdefghi"), 16, "more than 8 voices"),
        ("a(" + "1" * 700, 640, "longer than 640"),
    ],
)
def test_wrong_mix_says_where(text: str, position: int, problem: str) -> None:
    with pytest.raises(VoiceMixInvalid) as caught:
        voice_mix_parse(text)
    assert caught.value.position == position
    assert problem in caught.value.message
    assert caught.value.status == 400


@pytest.mark.parametrize("text", ["", " ", "../../etc/passwd", "a b", "声音", "a\x00", "x" * 65])
def test_what_cannot_be_a_name_is_not_found(text: str) -> None:
    with pytest.raises(VoiceNotFound):
        voice_mix_parse(text)
