"""A refined text is spoken where it says the same, and the text itself everywhere else."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tts.engines.chattts.marks import marked
from tests.tts.engines.chattts.speaking import Bench, segment
from tts.engine.request import Profile
from tts.engines.chattts.generation import End, RowStep
from tts.engines.chattts.layout import TOKENIZER
from tts.engines.chattts.refinement import Refiner, Refining
from tts.engines.chattts.tokens import Vocabulary
from tts.text.segment import Mark, Segment

TEXT = "good morning, 今天天气很好。hello world this is the test of a voice"


@pytest.fixture(scope="module")
def vocabulary(chattts_tiny: Path) -> Vocabulary:
    return Vocabulary.read((chattts_tiny / "asset" / TOKENIZER).read_bytes())


@pytest.fixture(scope="module")
def refiner(vocabulary: Vocabulary) -> Refiner:
    return Refiner(vocabulary)


def ids(vocabulary: Vocabulary, text: str, *marks: tuple[str, int]) -> tuple[int, ...]:
    return vocabulary.encode(marked(vocabulary, text, [Mark(*mark) for mark in marks]))


def test_pauses_and_laughter_may_come(vocabulary: Vocabulary, refiner: Refiner) -> None:
    before = ids(vocabulary, TEXT)
    after = ids(vocabulary, TEXT.replace("。", "，"), ("uv_break", 12), ("laugh", 20))
    changes = refiner.changes(before, after)
    assert (changes.lost, changes.added) == (0, 0)
    assert changes.acceptable


@pytest.mark.parametrize(
    ("refined", "lost", "added", "acceptable"),
    [
        (TEXT + " and", 0, 1, True),
        (TEXT + " and we have three", 0, 4, False),
        (TEXT.removesuffix(" voice"), 1, 0, False),
        (TEXT.replace("天气", "声音"), 2, 2, False),
        ("", 17, 0, False),
    ],
)
def test_other_words_are_counted(
    vocabulary: Vocabulary,
    refiner: Refiner,
    refined: str,
    lost: int,
    added: int,
    acceptable: bool,
) -> None:
    changes = refiner.changes(ids(vocabulary, TEXT), ids(vocabulary, refined))
    assert (changes.lost, changes.added) == (lost, added)
    assert changes.acceptable is acceptable


def test_a_caller_s_own_marks_must_stay(vocabulary: Vocabulary, refiner: Refiner) -> None:
    before = ids(vocabulary, TEXT, ("laugh", 4), ("uv_break", 12))
    for marks, kept in (
        ([("laugh", 4), ("lbreak", 6), ("uv_break", 12)], True),
        ([("laugh", 4)], False),
        ([("uv_break", 4), ("laugh", 12)], False),
        ([("laugh", 4), ("uv_break", 12), ("Stts", 14)], False),
    ):
        assert refiner.changes(before, ids(vocabulary, TEXT, *marks)).marks_kept is kept


@given(st.data())
def test_lost_and_added_account_for_the_lengths(
    vocabulary: Vocabulary, refiner: Refiner, data: st.DataObject
) -> None:
    words = st.lists(st.sampled_from(ids(vocabulary, "hello world good morning 你好")), max_size=12)
    before, after = data.draw(words), data.draw(words)
    changes = refiner.changes(before, after)
    assert changes.words == len(before)
    assert len(before) - changes.lost + changes.added == len(after)
    assert refiner.changes(before, before).acceptable


def refined(tokens: tuple[int, ...], end: End, before: tuple[int, ...]) -> Refining:
    refining = Refining(0, before)
    refining.advance(RowStep(0, codes=np.array([5], np.uint16)))
    for number, token in enumerate(tokens):
        refining.advance(RowStep(0, codes=np.array([token], np.uint16), restarted=number == 0))
    refining.advance(RowStep(0, end=end))
    return refining


def test_what_was_refined_is_spoken(vocabulary: Vocabulary, refiner: Refiner) -> None:
    before, after = ids(vocabulary, TEXT), ids(vocabulary, TEXT, ("uv_break", 12))
    assert refined(after, End.EOS, before).result(refiner) == after
    assert refined(after, End.LENGTH, before).result(refiner) == before
    assert refined(after[:3], End.EOS, before).result(refiner) == before


@pytest.fixture(scope="module")
def hq(chattts_tiny: Path) -> Iterator[Bench]:
    bench = Bench.load(chattts_tiny, Profile.HQ)
    yield bench
    bench.engine.close()


def with_tokens(*prompt: str) -> Segment:
    plain = segment("hello there")
    return Segment(0, plain.source, plain.spans, 0, 11, (), prompt)


def test_random_weights_change_the_text_which_is_spoken_all_the_same(hq: Bench) -> None:
    (audio,) = hq.speak(hq.prepare("hello there"))
    assert len(audio) > 0
    assert hq.engine.rows == 0


def test_prompt_tokens_of_refinement_reach_it(hq: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Refining, "result", lambda self, refiner: tuple(self.after[:8]))
    takes = [
        hq.prepare(part)
        for part in (with_tokens(), with_tokens("oral_2"), with_tokens("oral_2", "speed_2"))
    ]
    assert len({samples.tobytes() for samples in hq.speak(*takes)}) == 3


@pytest.mark.parametrize("steps", [1, 10])
def test_leaving_while_it_is_refined_frees_the_row(hq: Bench, steps: int) -> None:
    utterance = hq.prepare("hello there")
    for _ in range(steps):
        (result,) = hq.engine.step([utterance])
        assert (len(result.audio), result.finished, result.error) == (0, False, None)
    assert hq.engine.rows == 1
    hq.engine.release(utterance)
    assert hq.engine.rows == 0
