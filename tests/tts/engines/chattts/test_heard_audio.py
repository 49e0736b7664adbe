"""What was heard is never said again; what nobody heard of an attempt that failed never leaves."""

from pathlib import Path

import numpy as np
import pytest

from tests.tts.engines.chattts.scripted_takes import engine_scripted, hum
from tts.engine.errors import EngineError
from tts.engine.request import Profile
from tts.engines.base import Samples
from tts.engines.chattts.generation import End, RowStep, SpokenShort
from tts.engines.chattts.profile import PROFILES
from tts.engines.chattts.speech import Speech
from tts.engines.chattts.windows import PLANS, WindowPlan

LONG = "hello there my friend " * 9
"""Takes 80 tokens at least."""
HEARD = PLANS[Profile.STANDARD].size(0)


@pytest.mark.parametrize(
    ("tokens", "heard"),
    [(PLANS[Profile.STANDARD].first_tokens, HEARD), (PLANS[Profile.STANDARD].first_tokens - 1, 0)],
)
def test_an_early_end_after_audio_left_is_final(
    chattts_tiny: Path, monkeypatch: pytest.MonkeyPatch, tokens: int, heard: int
) -> None:
    bench = engine_scripted(chattts_tiny, Profile.STANDARD, monkeypatch, {0: tokens}, {0: hum})
    utterance = bench.prepare(LONG)
    left: list[Samples] = []
    error: EngineError | None = None
    while error is None:
        (result,) = bench.engine.step([utterance])
        left.append(result.audio)
        error = result.error
    assert isinstance(error, SpokenShort)
    assert ("the last of 1 times" in error.message) == (heard > 0)
    assert sum(map(len, left)) == heard * 512
    bench.engine.close()


def test_takes_that_are_compared_are_tried_again_at_any_length(
    chattts_tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slots = range(PROFILES[Profile.HQ].takes)
    # Longer than the first window, shorter than the text.
    lengths = dict.fromkeys(slots, PLANS[Profile.HQ].first_tokens + 1)
    bench = engine_scripted(
        chattts_tiny, Profile.HQ, monkeypatch, lengths, dict.fromkeys(slots, hum)
    )
    with pytest.raises(SpokenShort, match="the last of 4 times"):
        bench.speak(bench.prepare(LONG))
    bench.engine.close()


def test_audio_of_an_attempt_that_began_again_is_dropped() -> None:
    speech = Speech.of([1, 2], WindowPlan((1,), 1, 1), lambda takes: 0)
    state = np.zeros(64, np.float32)
    first, second = np.full(512, 0.1, np.float32), np.full(512, 0.2, np.float32)
    take, other = speech.takes
    for hidden in (state, state):
        take.advance(RowStep(1, hidden=hidden))
    assert len(speech.windows()) == 1
    speech.audio([(1, first)])
    take.advance(RowStep(1, hidden=state, restarted=True))
    take.advance(RowStep(1, end=End.EOS))
    ((row, window),) = speech.windows()
    assert (row, window.start, window.settled, window.last) == (1, 0, 1, True)
    other.ended = True
    np.testing.assert_array_equal(speech.audio([(1, second)]), second)
