"""ChatTTS's control tokens: carried beside what is spoken, in their place, or refused."""

import pytest

from tts.text.controls import CONTROL_TOKENS, PROMPT_RANGES
from tts.text.errors import InvalidControlToken, NoSpeakableText
from tts.text.segment import Mark, Segment, marked
from tts.text.split import Segmenter, SplitConfig, segment_text
from tts.text.validate import text_validate


def said(text: str) -> list[str]:
    return [marked(segment) for segment in segment_text(text)]


def test_inline_tokens_are_carried_beside_the_words() -> None:
    (segment,) = segment_text("What is [uv_break]your favorite food?[laugh][lbreak]")
    assert segment.spoken == "What is your favorite food?"
    assert segment.marks == (Mark("uv_break", 7), Mark("laugh", 27), Mark("lbreak", 27))
    assert segment.prompt == ()
    assert marked(segment) == "What is[uv_break] your favorite food?[laugh][lbreak]"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("停顿啊[uv_break]语气词啊", "停顿啊[uv_break]语气词啊"),
        ("[laugh]你好", "[laugh]你好"),
        ("Well[v_break], you know", "Well[v_break], you know"),
        ("Well,[v_break] you know", "Well,[v_break] you know"),
        ("Wait... [laugh] what?", "Wait,[laugh] what?"),
        ("12[laugh]34", "twelve[laugh] thirty-four"),
        ("2026[laugh]年", "二零二六[laugh]年"),
        ("un[laugh]even", "un[laugh] even"),
        ("3.5 [laugh] kg", "three point five[laugh] kg"),
        ("Dr. [laugh] Smith", "Doctor[laugh] Smith"),
        ("about 50[laugh]% of it", "about fifty[laugh] percent of it"),
        ("增长了50%[laugh]左右", "增长了百分之五十[laugh]左右"),
        ("see example.com [laugh] now", "see example dot com[laugh] now"),
        ("见https://a.cn/b [laugh]谢谢", "见 a dot cn slash b[laugh] 谢谢"),
        ("他说[uv_break]hello[laugh]了", "他说[uv_break] hello[laugh] 了"),
        ("**Bold[laugh] text** here", "Bold[laugh] text here"),
        ("[the [laugh] guide](https://a.b)", "the[laugh] guide"),
        ("See [it.](https://a.b/[laugh]/c) Now", "See it.[laugh] Now"),
        ("[LAUGH]Ha", "[laugh]Ha"),
        ("# Title [laugh]", "Title[laugh]"),
    ],
)
def test_token_stands_between_what_is_spoken_on_its_sides(text: str, expected: str) -> None:
    assert said(text) == [expected]


@pytest.mark.parametrize(
    "text", ["$5 [laugh] million for it", "May [laugh] 5, 2024 [v_break] was a Sunday"]
)
def test_what_is_spoken_is_what_a_space_in_place_of_the_token_gives(text: str) -> None:
    bare = text.replace("[laugh]", " ").replace("[v_break]", " ")
    (segment,), (other,) = segment_text(text), segment_text(bare)
    assert segment.spoken == other.spoken
    assert segment.marks


def test_offsets_into_the_original_stay_right() -> None:
    text = "[speed_3] Hello[laugh] there."
    (segment,) = segment_text(text)
    (span,) = segment.spans
    assert (segment.start, segment.end) == (0, len(text))
    assert text[span.start : span.end] == "Hello[laugh] there."


@pytest.mark.parametrize(
    "text", ["[note] this", "[laughs] this", "[speed_fast] this", "[speed_] this", "[laugh this"]
)
def test_other_brackets_are_text(text: str) -> None:
    (segment,) = segment_text(text)
    assert (segment.marks, segment.prompt) == ((), ())
    assert segment.spoken.split(",")[0].split()[0] in {"note", "laughs", "speed", "laugh"}


def test_backslash_makes_text_of_a_token() -> None:
    (segment,) = segment_text(r"Write \[laugh] or \[speed_12] there")
    assert (segment.marks, segment.prompt) == ((), ())
    assert segment.spoken == "Write, laugh, or, speed twelve, there"


def prompts(text: str) -> list[tuple[str, tuple[str, ...]]]:
    return [(segment.source, segment.prompt) for segment in segment_text(text)]


def test_prompt_token_holds_until_another_of_its_family() -> None:
    assert prompts(
        "One sentence first. [speed_3][oral_2]The second one. A third. [speed_7]Last."
    ) == [
        ("One sentence first.", ()),
        ("[speed_3][oral_2]The second one.", ("oral_2", "speed_3")),
        ("A third.", ("oral_2", "speed_3")),
        ("[speed_7]Last.", ("oral_2", "speed_7")),
    ]


def test_prompt_token_within_a_clause_holds_for_what_follows_and_cuts_nothing() -> None:
    assert prompts("I am [speed_3] going home. You stay right here.") == [
        ("I am [speed_3] going home.", ()),
        ("You stay right here.", ("speed_3",)),
    ]


def test_prompt_token_after_a_short_sentence_or_a_clause_begins_a_segment() -> None:
    assert prompts("Hi. [break_4] So, [laugh_1]no.") == [
        ("Hi.", ()),
        ("[break_4] So,", ("break_4",)),
        ("[laugh_1]no.", ("break_4", "laugh_1")),
    ]


def test_every_allowed_level_is_taken_and_no_other() -> None:
    for family, most in PROMPT_RANGES.items():
        for level in range(most + 1):
            (segment,) = segment_text(f"[{family}_{level}]Hi")
            assert segment.prompt == (f"{family}_{level}",)
        with pytest.raises(InvalidControlToken):
            segment_text(f"[{family}_{most + 1}]Hi")


@pytest.mark.parametrize(
    "token", ["[speed_12]", "[laugh_7]", "[ORAL_10]", "[break_-1]", "[speed_05]"]
)
def test_level_out_of_range_is_refused_with_what_is_allowed(token: str) -> None:
    family = token[1:].partition("_")[0].lower()
    most = PROMPT_RANGES[family]
    with pytest.raises(InvalidControlToken) as caught:
        text_validate(f"Hello {token} you", 100)
    assert caught.value.position == 6
    assert token in caught.value.message
    assert f"[{family}_0] to [{family}_{most}]" in caught.value.message


def test_level_out_of_range_is_told_before_that_nothing_is_spoken() -> None:
    with pytest.raises(InvalidControlToken):
        text_validate("[speed_12]", 100)
    with pytest.raises(NoSpeakableText):
        text_validate("[speed_2][laugh]", 100)


def test_refused_token_in_two_pieces_leaves_the_stream_as_it_was() -> None:
    segmenter = Segmenter()
    segmenter.append("Go on now [spe")
    with pytest.raises(InvalidControlToken) as caught:
        segmenter.append("ed_12] quickly")
    assert caught.value.position == 10
    segmenter.append("ed_9] quickly.")
    assert [s.source for s in segmenter.flush()] == ["Go on now [speed_9] quickly."]


def test_token_in_two_pieces_is_one_token() -> None:
    segmenter = Segmenter()
    made = segmenter.append("Hello there. [lau") + segmenter.append("gh] And you?")
    made += segmenter.flush()
    assert [marked(segment) for segment in made] == ["Hello there.[laugh]", "And you?"]


def test_token_cut_by_a_flush_is_text() -> None:
    segmenter = Segmenter()
    segmenter.append("Hello [lau")
    (first,) = segmenter.flush()
    assert (first.spoken, first.marks) == ("Hello, lau", ())


def test_tokens_alone_wait_for_words() -> None:
    segmenter = Segmenter()
    segmenter.append("[laugh][speed_3]")
    assert segmenter.flush() == []
    segmenter.append("Hello.")
    (segment,) = segmenter.flush()
    assert (marked(segment), segment.prompt) == ("[laugh]Hello.", ("speed_3",))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("That was funny.\n[laugh]", ["That was funny.[laugh]"]),
        ("Hello there. 😀[laugh]", ["Hello there.[laugh]"]),
        ("你好。[laugh]\n\n[uv_break]<br>[lbreak]", ["你好。[laugh][uv_break][lbreak]"]),
        ("It is over now.\n[laugh]\nSo it is.", ["It is over now.", "[laugh]So it is."]),
    ],
)
def test_tokens_after_the_last_words_end_them(text: str, expected: list[str]) -> None:
    segmenter = Segmenter()
    made = [segment for character in text for segment in segmenter.append(character)]
    made += segmenter.flush()
    assert [marked(segment) for segment in made] == said(text) == expected
    assert (made[0].start, made[0].source) == (0, text[: made[0].end])


def test_segment_waits_for_what_is_heard_after_it_and_no_longer() -> None:
    segmenter = Segmenter()
    assert segmenter.append("It is over now.\n😀 [laugh]") == []
    assert [marked(segment) for segment in segmenter.append("S")] == ["It is over now."]
    assert [marked(segment) for segment in segmenter.flush()] == ["[laugh]S"]


def test_no_cut_falls_into_a_token() -> None:
    config = SplitConfig(max_chars=20, first_max_chars=10)
    segments = segment_text("[uv_break]".join(["x" * 13] * 30), config=config)
    assert sum(len(segment.marks) for segment in segments) == 29
    assert "break" not in "".join(segment.spoken for segment in segments)


def test_reserved_tokens_are_left_out() -> None:
    for token in CONTROL_TOKENS - {"laugh", "uv_break", "v_break", "lbreak"}:
        (segment,) = segment_text(f"Hello [{token}]there")
        assert (segment.spoken, segment.marks) == ("Hello there", ())


def test_marks_are_put_back_in_order() -> None:
    (segment,) = segment_text("One two")
    twice = (Mark("laugh", 0), Mark("v_break", 3), Mark("lbreak", 3), Mark("laugh", 7))
    both = Segment(0, segment.source, segment.spans, 0, 7, twice)
    assert marked(both) == "[laugh]One[v_break][lbreak] two[laugh]"
