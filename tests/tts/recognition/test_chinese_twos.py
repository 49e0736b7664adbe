"""二 and 两 in what was heard: wrong in each other's place, and one where nobody can tell."""

import pytest

from tts.recognition.scores import syllable_errors, word_errors


@pytest.mark.parametrize(
    ("expected", "heard"),
    [("两个人", "二个人"), ("第二个", "第两个"), ("五月二日", "五月两日"), ("两个人", "而个人")],
)
def test_wrong_two_is_one_wrong_syllable(expected: str, heard: str) -> None:
    assert syllable_errors([expected], [heard]) == pytest.approx(1 / len(expected))


@pytest.mark.parametrize(
    ("expected", "heard"),
    [
        ("第二个人有两本书", "第2个人有2本书"),
        ("二零二六年五月二日", "2026年5月2日"),
        ("两千二百二十二元", "二千两百二十二元"),
        ("二百二十", "220"),
        ("两点二公里", "2.2公里"),
        ("兩個人", "两个人"),
        ("二等奖", "二等奖"),
    ],
)
def test_two_that_may_be_either_counts_as_right(expected: str, heard: str) -> None:
    assert syllable_errors([expected], [heard]) == 0


def test_errors_of_all_texts_are_counted_together() -> None:
    assert syllable_errors(["两个人", "你好"], ["二个", "你好啊"]) == pytest.approx(3 / 5)
    assert word_errors(["one two", "three"], ["one 2", "tree"]) == pytest.approx(1 / 3)


def test_text_without_anything_to_hear_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing to be heard"):
        syllable_errors(["。"], ["好"])


def test_han_without_a_known_sound_moves_no_syllable() -> None:
    assert syllable_errors(["㐀㐂两个"], ["㐀㐂二个"]) == pytest.approx(1 / 4)
