"""Each engine gets segments of the lengths that it speaks well."""

import pytest

from tts.speech.splitter import PlatformSplitter
from tts.text.split_config import SplitConfig, SplitMode

TEXT = "今天下雨了。" * 12


def texts(engine: str, split: SplitConfig | None = None) -> list[str]:
    found = PlatformSplitter().segments(TEXT, None, split, engine)
    return [segment.source for segment in found]


def test_chattts_speaks_several_short_sentences_in_one_go() -> None:
    first, second, *later = texts("chattts")
    assert first == "今天下雨了。"
    assert len(second) == 18, "as much as is computed while the first is heard"
    assert [len(text) for text in later] == [30, 18]
    assert "".join((first, second, *later)) == TEXT


@pytest.mark.parametrize("engine", ["kokoro", "tone"])
def test_other_engines_speak_sentence_by_sentence(engine: str) -> None:
    assert texts(engine) == ["今天下雨了。"] * 12


def test_who_wants_clauses_gets_them() -> None:
    assert len(texts("chattts", SplitConfig(mode=SplitMode.CLAUSE))) == 12


def test_text_that_arrives_in_pieces_is_split_alike() -> None:
    feed = PlatformSplitter().feed(None, None, "chattts")
    found = [s for character in TEXT for s in feed.append(character)]
    found += feed.flush()
    assert [segment.source for segment in found] == texts("chattts")
