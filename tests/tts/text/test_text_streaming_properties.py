"""Whatever the text and however it arrives, the segments are the same and nothing is lost."""

import re
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from tts.text.controls import CONTROL_PATTERN, ControlKind, find_controls
from tts.text.segment import Segment, marked
from tts.text.split import Segmenter, SplitConfig, SplitMode, segment_text

_PARTS = st.sampled_from(
    [
        *("Hello", "world", "Dr.", "U.S.", "e.g.", "3.14", "1.", "$5.30", "etc.", "No.", "a", "I"),
        *("今天", "天气", "很好", "2026年", "TTS", "x" * 70, "我" * 30, "don't", "2,000", "9:30PM"),
        *("$7,777,777.77 ", "2024-11-27", "www.a-b.com/c_d", "17,777,777元"),
        *(" ", " ", " ", "\n", "\n\n", "\t", ". ", ", ", "。", "，", "！", "？", "...", "……", "、"),
        *(
            "”",
            "“",
            '"',
            ")",
            "(",
            "』",
            "'",
            "*",
            "**",
            "—",
            " - ",
            ":",
            "：",
            "; ",
            "🎉",
            "#",
            "- ",
        ),
        *("?", "!", ".", "\r\n", "[uv_break]", "[laugh]", "é", "α ", "1", "7", "é", "\u200b"),
    ]
)
_BRACKETS = st.sampled_from(
    [
        *("[laugh]", "[Lbreak]", "[speed_2]", "[speed_9]", "[oral_1]", "[break_7]", "[Stts]"),
        *("<br>", "<b", "r>", "```python\n", "``", "&amp;", "&am", "![a](b)", "😀", "- [x] "),
        *("[", "]", "[lau", "gh]", "[speed", "_1]", "\\", "(", "[x](https://a.b/c)", "](", "/d)"),
    ]
)
_TEXTS = st.lists(_PARTS, max_size=60).map("".join)
_MARKED = st.lists(_PARTS | _BRACKETS, max_size=60).map("".join)
_CONFIGS = st.builds(
    SplitConfig,
    mode=st.sampled_from(list(SplitMode)),
    max_chars=st.sampled_from([20, 60, 200]),
    first_max_chars=st.sampled_from([10, 20]),
    min_chars=st.sampled_from([0, 5, 10]),
    later_min_chars=st.sampled_from([0, 10, 20]),
)


@st.composite
def _cut_texts(draw: st.DrawFn) -> tuple[str, list[str]]:
    text = draw(_TEXTS | _MARKED)
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=30)))
    edges = [0, *cuts, len(text)]
    return text, [text[a:b] for a, b in pairwise(edges)]


def _stream(pieces: list[str], config: SplitConfig) -> list[Segment]:
    segmenter = Segmenter(config)
    made = [segment for piece in pieces for segment in segmenter.append(piece)]
    return made + segmenter.flush()


@settings(max_examples=100, deadline=None)
@given(_cut_texts(), _CONFIGS)
def test_pieces_and_whole_text_give_the_same_segments(
    cut: tuple[str, list[str]], config: SplitConfig
) -> None:
    text, pieces = cut
    assert _stream(pieces, config) == segment_text(text, config=config)


@settings(max_examples=60, deadline=None)
@given(_TEXTS | _MARKED, _CONFIGS)
def test_single_characters_give_the_same_segments(text: str, config: SplitConfig) -> None:
    assert _stream(list(text), config) == segment_text(text, config=config)


@settings(max_examples=100, deadline=None)
@given(_TEXTS, _CONFIGS)
def test_segments_are_in_order_within_limits_and_true_to_the_text(
    text: str, config: SplitConfig
) -> None:
    end = 0
    for number, segment in enumerate(segment_text(text, config=config)):
        assert segment.index == number
        assert segment.start >= end
        assert segment.source == text[segment.start : segment.end]
        assert 0 < len(segment.source) <= config.max_chars
        assert segment.spoken.strip()
        place = segment.start
        for span in segment.spans:
            assert place <= span.start < span.end <= segment.end
            place = span.end
        end = segment.end


@settings(max_examples=100, deadline=None)
@given(_TEXTS, _CONFIGS)
def test_nothing_that_can_be_heard_is_lost(text: str, config: SplitConfig) -> None:
    text = CONTROL_PATTERN.sub(" ", text)
    covered = {
        place
        for segment in segment_text(text, config=config)
        for span in segment.spans
        for place in range(span.start, span.end)
    }
    assert {i for i, c in enumerate(text) if c.isalnum()} <= covered


@settings(max_examples=150, deadline=None)
@given(_MARKED, _CONFIGS)
def test_no_control_token_is_lost_or_out_of_order(text: str, config: SplitConfig) -> None:
    text = text.replace("\\", "") + "\nThe end of it."
    segments = segment_text(text, config=config)
    inline = [c.token for c in find_controls(text) if c.kind is ControlKind.INLINE]
    assert [mark.token for segment in segments for mark in segment.marks] == inline
    for segment in segments:
        places = [0, *(mark.offset for mark in segment.marks), len(segment.spoken)]
        assert places == sorted(places)
        before = [
            c
            for c in find_controls(text)
            if c.kind is ControlKind.PROMPT and c.start < segment.spans[0].start
        ]
        held = {control.family: control.token for control in before}
        assert segment.prompt == tuple(held[family] for family in sorted(held))


@settings(max_examples=150, deadline=None)
@given(_cut_texts(), st.lists(_PARTS | _BRACKETS, max_size=6).map("".join), _CONFIGS)
def test_no_inline_token_is_lost_where_nothing_is_heard_after_it(
    cut: tuple[str, list[str]], tail: str, config: SplitConfig
) -> None:
    pieces = ["Begun. ", *cut[1], tail, "[laugh]"]
    pieces = [piece.replace("\\", "") for piece in pieces]
    tokens = find_controls("".join(pieces))
    inline = [control.token for control in tokens if control.kind is ControlKind.INLINE]
    streamed = _stream(pieces, config)
    assert [mark.token for segment in streamed for mark in segment.marks] == inline
    assert streamed == segment_text("".join(pieces), config=config)


_WORDS = st.sampled_from(
    ["apple", "the", "don't", "你好", "天气", "[laugh]", "[uv_break]", "[speed_3]"]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(_WORDS, min_size=1, max_size=25), st.sampled_from(["", " "]))
def test_inline_tokens_keep_their_place_between_words(words: list[str], gap: str) -> None:
    text = "".join(
        f"{gap}{word}" if "[" in word or not word.isascii() else f" {word} " for word in words
    )
    said = "".join(marked(segment) for segment in segment_text(f"{text} end"))
    expected = "".join(word for word in [*words, "end"] if word != "[speed_3]")
    assert re.sub("[ ,.，。]", "", said) == expected
