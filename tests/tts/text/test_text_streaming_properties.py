"""Whatever the text and however it arrives, the segments are the same and nothing is lost."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from tts.text.segment import Segment
from tts.text.split import Segmenter, SplitConfig, SplitMode, segment_text

_PARTS = st.sampled_from(
    [
        *("Hello", "world", "Dr.", "U.S.", "e.g.", "3.14", "1.", "$5.30", "etc.", "No.", "a", "I"),
        *("今天", "天气", "很好", "2026年", "TTS", "x" * 70, "我" * 30, "don't", "2,000", "9:30PM"),
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
        *("?", "!", ".", "\r\n", "[uv_break]", "é", "α ", "1", "7", "é", "\u200b"),
    ]
)
_TEXTS = st.lists(_PARTS, max_size=60).map("".join)
_CONFIGS = st.builds(
    SplitConfig,
    mode=st.sampled_from(list(SplitMode)),
    max_chars=st.sampled_from([20, 60, 200]),
    first_max_chars=st.sampled_from([10, 20]),
    min_chars=st.sampled_from([0, 5, 10]),
)


@st.composite
def _cut_texts(draw: st.DrawFn) -> tuple[str, list[str]]:
    text = draw(_TEXTS)
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
@given(_TEXTS, _CONFIGS)
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
    text = text.replace("[uv_break]", "")
    covered = {
        place
        for segment in segment_text(text, config=config)
        for span in segment.spans
        for place in range(span.start, span.end)
    }
    assert {i for i, c in enumerate(text) if c.isalnum()} <= covered
