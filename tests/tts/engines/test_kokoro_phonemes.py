"""Text to Kokoro's phonemes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.requirement import missing
from tts.engines.kokoro.manifest import VOCABULARY, missing_packages
from tts.engines.kokoro.model import Vocabulary
from tts.engines.kokoro.phonemes import phonemiser, split_phonemes
from tts.engines.shards import LocalShards
from tts.text.segment import Language


@pytest.fixture(autouse=True)
def _packages() -> None:
    if missing_packages():
        missing(f"the Python packages {', '.join(missing_packages())}")


@pytest.mark.parametrize(
    ("text", "phonemes"),
    [
        ("你好，世界。", "ni↓xau↓, ʂɨ↘ʨje↘."),
        ("他在银行行走，重新重视。", "tʰa→ ʦai↘ i↗nxa↗ŋ ɕi↗ŋʦou↓, ꭧʰʊ↗ŋɕi→n ꭧʊ↘ŋʂɨ↘."),
        (
            "二零二四年三月十五日、星期五；现在：九点半？",
            "ɚ↘li↗ŋɚ↘ sɨ↘njɛ↗n sa→nɥe↘ ʂɨ↗u↓ɻɨ↘, ɕi→ŋʨʰi→u↓; ɕjɛ↘nʦai↘: ʨjou↓tjɛ↓npa↘n?",
        ),
        ("女儿绿色略微。", "ny↓ɚ↗ ly↘sɤ↘ lɥe↘wei→."),
    ],
)
def test_mandarin_is_read_as_misakis_zhg2p_reads_it(text: str, phonemes: str) -> None:
    """The expected phonemes are those of misaki 0.9.4 `ZHG2P`, which trained the model."""
    assert phonemiser(Language.ZH)(text) == [phonemes]


@pytest.mark.parametrize(
    ("rare", "common"),
    [
        ("他去𠮷野家", "他去吉野家"),
        ("写㐂字", "写喜字"),
        ("这个𠀂字", "这个某字"),
        ("王𰻝", "王𰻝"),
    ],
)
def test_a_character_without_a_reading_is_not_left_out(rare: str, common: str) -> None:
    read = phonemiser(Language.ZH)
    assert read(rare) == read(common)
    assert len(read(rare)[0]) > len(read(rare[:-1])[0])


def test_every_han_character_of_a_rare_block_and_stray_signs_are_harmless() -> None:
    assert phonemiser(Language.ZH)("㐀🙂abc，𠮷野家") != []
    assert phonemiser(Language.ZH)("，。🙂…abc") == []
    assert phonemiser(Language.ZH)("") == []


def test_english_sentences_come_one_by_one_in_either_accent() -> None:
    assert phonemiser(Language.EN)("Hello. Go!") == ["həlˈO.", "ɡˌO!"]
    assert phonemiser(Language.EN, british=True)("Hello.") == ["həlˈQ."]
    assert phonemiser(Language.EN)("") == []


def test_all_phonemes_are_in_the_vocabulary() -> None:
    vocabulary = Vocabulary(bytes(LocalShards([VOCABULARY]).read("vocab")))
    text = "The judge's vision: a pleasure to hear, though it's rarely thick enough, boy!"
    for phonemes in (
        *phonemiser(Language.EN)(text),
        *phonemiser(Language.EN, british=True)(text),
        *phonemiser(Language.ZH)("春眠不觉晓，处处闻啼鸟。夜来风雨声，花落知多少？"),
    ):
        assert vocabulary.known(phonemes) == phonemes


def test_long_passages_are_cut_at_the_best_border_near_the_middle() -> None:
    sentence = "aa bb cc dd, ee ff gg. hh ii, jj kk ll mm"
    assert split_phonemes(sentence, 100) == [sentence]
    assert split_phonemes(sentence, 24) == ["aa bb cc dd, ee ff gg.", "hh ii, jj kk ll mm"]
    assert split_phonemes("aaaa bbbb cccc dddd", 10) == ["aaaa bbbb", "cccc dddd"]
    assert split_phonemes("a" * 25, 10) == ["a" * 10, "a" * 10, "a" * 5]
    with pytest.raises(ValueError, match="at least 1"):
        split_phonemes("a", 0)


@settings(max_examples=100)
@given(st.text(alphabet="ab ,.", max_size=80), st.integers(1, 12))
def test_cutting_loses_only_spaces_and_keeps_the_limit(phonemes: str, limit: int) -> None:
    parts = split_phonemes(phonemes, limit)
    assert all(0 < len(part) <= limit for part in parts)
    assert "".join(parts).replace(" ", "") == phonemes.replace(" ", "")
