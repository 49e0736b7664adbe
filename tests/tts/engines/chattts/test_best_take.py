"""Of several takes the one with the least faults is spoken, wherever it stands."""

from pathlib import Path

import numpy as np
import pytest

from tests.tts.engines.chattts.scripted_takes import engine_scripted, hiss, hum, silence
from tts.engine.request import Profile
from tts.engines.chattts.profile import PROFILES

TEXT = "hello there"
TOKENS = 33
"""About as many as the text is expected to take."""


@pytest.mark.parametrize("best", range(PROFILES[Profile.HQ].takes))
def test_the_take_that_hums_is_better_than_silence_and_hiss(
    chattts_tiny: Path, monkeypatch: pytest.MonkeyPatch, best: int
) -> None:
    sounds = [silence, hiss]
    sounds.insert(best, hum)
    slots = range(len(sounds))
    bench = engine_scripted(
        chattts_tiny,
        Profile.HQ,
        monkeypatch,
        dict.fromkeys(slots, TOKENS),
        dict(zip(slots, sounds, strict=True)),
    )
    (audio,) = bench.speak(bench.prepare(TEXT))
    assert len(audio) == TOKENS * 512
    np.testing.assert_array_equal(audio[: 24 * 512], hum(24 * 512))
    bench.engine.close()
