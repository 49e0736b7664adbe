"""What was decoded of takes leaves as audio, except where it is no sound."""

from collections.abc import Sequence

import numpy as np

from tts.engine.request import Profile
from tts.engines.base import Samples
from tts.engines.chattts.generation import End, NotFinite, RowStep, SpokenShort
from tts.engines.chattts.speech import Speech
from tts.engines.chattts.windows import PLANS, WindowPlan


def test_a_take_that_is_no_sound_ends_alone() -> None:
    speech = Speech.of([1, 2], PLANS[Profile.HQ], lambda takes: 0)
    speech.audio([(1, np.full(512, np.nan, np.float32)), (2, np.ones(512, np.float32))])
    assert speech.rows == [2]
    assert speech.error is None
    speech.takes[1].ended = True
    np.testing.assert_array_equal(speech.audio([]), np.ones(512, np.float32))


def test_nothing_but_takes_that_are_no_sound_is_an_error() -> None:
    speech = Speech.of([1], PLANS[Profile.REALTIME], lambda takes: 0)
    assert not len(speech.audio([(1, np.full(512, np.inf, np.float32))]))
    assert isinstance(speech.error, NotFinite)


def test_a_take_that_failed_is_not_decoded_any_more() -> None:
    speech = Speech.of([1, 2], WindowPlan((1,), 1, 1), lambda takes: 0)
    for take in speech.takes:
        take.advance(RowStep(take.row, hidden=np.zeros(64, np.float32)))
    failed, good = speech.takes
    failed.advance(RowStep(failed.row, error=SpokenShort("too short")))
    good.advance(RowStep(good.row, end=End.EOS))
    assert [row for row, _ in speech.windows()] == [good.row]
    assert speech.rows == []


def test_a_take_that_failed_is_not_to_be_chosen() -> None:
    offered: list[Sequence[Samples]] = []

    def choose(takes: Sequence[Samples]) -> int:
        offered.append(takes)
        return 1

    speech = Speech.of([1, 2, 3], PLANS[Profile.HQ], choose)
    failed, *_ = speech.takes
    speech.audio([(take.row, np.full(512, take.row, np.float32)) for take in speech.takes])
    failed.advance(RowStep(failed.row, error=SpokenShort("too short")))
    for take in speech.takes:
        take.ended = True
    assert set(speech.audio([])) == {3.0}
    assert [{*take} for take in offered[0]] == [{2.0}, {3.0}]
