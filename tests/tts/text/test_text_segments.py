"""Where text is cut: sentences, abbreviations, quotes, long texts, the first segment."""

import pytest

from tts.text.errors import InvalidSplitting
from tts.text.segment import Language
from tts.text.split import (
    Segmenter,
    SplitConfig,
    SplitMode,
    iter_segments,
    languages_of,
    segment_text,
)


def sources(text: str, config: SplitConfig | None = None) -> list[str]:
    return [segment.source for segment in segment_text(text, config=config)]


def test_each_sentence_is_a_segment_with_its_place() -> None:
    text = "  The first sentence. 然后是第二个句子。 And the third one!"
    segments = segment_text(text)
    assert [s.source for s in segments] == [
        "The first sentence.",
        "然后是第二个句子。",
        "And the third one!",
    ]
    assert [s.index for s in segments] == [0, 1, 2]
    assert all(text[s.start : s.end] == s.source for s in segments)
    assert languages_of(segments) == (Language.EN, Language.ZH)


@pytest.mark.parametrize(
    "text",
    [
        "Dr. Smith met Mr. Jones.",
        "He lives in the U.S. Then he left.",
        "We measured 3.14 and 2.71 today.",
        "Use fruit, e.g. Apples or i.e. Pears.",
        "See https://example.com/a.b?c=d for it.",
        "1. Open the box",
        "It was St. Louis, at 9 p.m. Eastern.",
        "See Fig. 3 and No. 5 there.",
        "J. K. Rowling wrote it.",
        "“Really?” he asked them.",
        "Wait... what is that?",
        "它叫 Node.js 3.0 版。",
        "我……我不知道。",
    ],
)
def test_what_is_no_sentence_end_does_not_split(text: str) -> None:
    config = SplitConfig(min_chars=0)
    assert sources(text, config) == [text]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("“今天天气很好。”他笑着说了一句话。", "“今天天气很好。”"),
        ("他问『这是真的吗？』）然后就离开了这里。", "他问『这是真的吗？』）"),
        ('She said "Come over here." Then she left.', 'She said "Come over here."'),
        ("(This is inside all of it.) And outside.", "(This is inside all of it.)"),
        ("This is **very important.** Next one.", "This is **very important.**"),
        ('他说了一句话。"你好"是这样说的。', "他说了一句话。"),
    ],
)
def test_closing_marks_stay_with_their_sentence(text: str, first: str) -> None:
    assert sources(text)[0] == first


def test_later_segments_may_be_asked_to_be_longer() -> None:
    pair = "It is late. It is late."
    text = " ".join([pair] * 20)
    assert sources(text) == [pair] * 20
    first, second, *others, _ = sources(text, SplitConfig(later_min_chars=75))
    assert first == pair
    assert len(pair) < len(second) < 75, "speech does not run dry before it"
    assert all(75 <= len(part) < 100 for part in others)


def test_blank_lines_headings_and_list_items_end_a_segment() -> None:
    text = "# The heading here\nSome words that follow\n\n- the first item\n- the second item"
    assert sources(text) == [
        "# The heading here",
        "Some words that follow",
        "- the first item",
        "- the second item",
    ]


def test_wrapped_line_is_no_end() -> None:
    assert sources("This line was\nwrapped by an editor.") == [
        "This line was\nwrapped by an editor."
    ]


def test_short_sentence_is_joined_with_the_next() -> None:
    assert sources("Hi. How are you?") == ["Hi. How are you?"]


def test_first_segment_is_its_first_clause_when_the_sentence_is_long() -> None:
    text = (
        "When the rain had finally stopped, the children, who had been waiting by the window "
        "all afternoon, ran out into the garden."
    )
    assert sources(text)[0] == "When the rain had finally stopped, the children,"


def test_later_sentence_is_kept_whole_where_it_fits() -> None:
    start = "This is how it all began on that day. " * 5
    long = "The second, which is long, has many clauses, one after the other, but it stays whole."
    assert sources(start + long)[-1] == long


@pytest.mark.parametrize("text", ["word " * 1000, "今天天气很好" * 800, "x" * 5000, "12 " * 1700])
def test_long_text_without_punctuation_is_cut_near_the_limit(text: str) -> None:
    segments = segment_text(text)
    assert all(len(s.source) <= 200 for s in segments)
    assert "".join(s.source for s in segments).replace(" ", "") == text.replace(" ", "")
    assert len(segments) <= len(text) / 40


def test_cut_without_punctuation_falls_between_words() -> None:
    for segment in segment_text("alphabet " * 300):
        assert set(segment.source.split()) == {"alphabet"}


def test_chinese_cut_does_not_tear_numbers_or_latin_words() -> None:
    for segment in segment_text("他们在2026年用了TensorFlow训练模型然后" * 30):
        assert segment.source.count("TensorFlow") == segment.source.count("T")
        assert segment.source.count("2026年") == segment.source.count("2026")


def test_clause_mode_cuts_after_clauses() -> None:
    text = "First of all the one, then after it the other; and the end."
    config = SplitConfig(mode=SplitMode.CLAUSE)
    assert sources(text, config) == [
        "First of all the one,",
        "then after it the other;",
        "and the end.",
    ]


def test_none_mode_cuts_only_where_length_forces_it() -> None:
    config = SplitConfig(mode=SplitMode.NONE)
    text = "One short sentence here. Another one follows it. And a third."
    assert sources(text, config) == [text]
    assert all(s.endswith("here.") for s in sources("This is one sentence here. " * 40, config))


def test_speechless_text_makes_no_segment() -> None:
    for text in ("", " \t\n", "...", "🙂", "[uv_break]", "“”（）——", "***", "🎉👍🏽 …"):
        assert segment_text(text) == []


def test_quoted_words_are_spoken_token_by_token() -> None:
    segmenter = Segmenter()
    made = []
    for token in ['"Ten', " words", " in", " quotes", " here", '."']:
        made += segmenter.append(token)
    made += segmenter.flush()
    assert [s.source for s in made] == ['"Ten words in quotes here."']


def test_text_is_joined_exactly_as_it_comes() -> None:
    segmenter = Segmenter()
    for token in ["Hel", "lo wor", "ld", " again"]:
        assert segmenter.append(token) == []
    assert [s.source for s in segmenter.flush()] == ["Hello world again"]
    assert segmenter.flush() == []


@pytest.mark.parametrize("length", [10, 300, 2500, 7000])
def test_links_target_is_not_read_however_long(length: int) -> None:
    text = f"See [the guide.](https://a.b/{'c/1' * (length // 3)}) Now the rest."
    segmenter = Segmenter()
    made = [s for i in range(0, len(text), 100) for s in segmenter.append(text[i : i + 100])]
    made += segmenter.flush()
    assert made == segment_text(text)
    assert [segment.spoken for segment in made] == ["See the guide.", "Now the rest."]
    assert made[1].source == text[made[1].start : made[1].end] == "Now the rest."


def test_text_after_a_flush_is_the_next_segment_of_the_stream() -> None:
    segmenter = Segmenter()
    segmenter.append("before it")
    (first,) = segmenter.flush()
    assert segmenter.flush() == []
    segmenter.append(" after it")
    (second,) = segmenter.flush()
    assert (first.index, first.start, first.end) == (0, 0, 9)
    assert (second.index, second.source, second.start) == (1, "after it", 10)


def test_sentence_is_given_out_once_the_next_character_is_known() -> None:
    segmenter = Segmenter()
    assert segmenter.append("The sentence is over.") == []
    assert segmenter.append(" ") == []
    assert [s.source for s in segmenter.append("N")] == ["The sentence is over."]
    assert segmenter.append("一句完整的话。") == []
    assert [s.source for s in segmenter.append("”下")] == ["N一句完整的话。”"]


def test_whole_book_is_segmented_to_its_end() -> None:
    text = "".join(f"This is sentence number {n} of the whole book. " for n in range(400))
    segments = segment_text(text)
    assert len(text) > 12_000
    assert segments[-1].end == len(text.rstrip())
    assert len(segments) == 400


def test_first_segment_comes_before_the_rest_is_looked_at() -> None:
    segments = iter_segments("A sentence to begin with. " * 10_000)
    assert next(segments).source == "A sentence to begin with."


@pytest.mark.parametrize(
    "settings",
    [
        {"max_chars": 5},
        {"first_max_chars": 500},
        {"min_chars": -1},
        {"later_min_chars": 201},
        {"growth": 0.5},
        {"mode": "x"},
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(InvalidSplitting, match="allowed are"):
        SplitConfig(**settings)  # type: ignore[arg-type]  # wrong values are the point
