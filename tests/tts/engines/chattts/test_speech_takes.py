"""What was decoded of takes leaves as audio, except where it is no sound."""

import numpy as np

from tts.engine.request import Profile
from tts.engines.chattts.generation import NotFinite
from tts.engines.chattts.speech import Speech
from tts.engines.chattts.windows import PLANS


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
