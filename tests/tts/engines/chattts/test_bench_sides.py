"""Both sides of `bench chattts` speak as many tokens as they are told to, and count them."""

from pathlib import Path

import pytest

from tts.engine.request import Profile
from tts.engines.base import Device
from tts.engines.chattts.backend import Precision
from tts.engines.chattts.bench.original import OriginalSide
from tts.engines.chattts.bench.ours import OwnSide
from tts.engines.chattts.bench.pace import Pace
from tts.engines.chattts.manifest import chattts_manifest
from tts.engines.shards import LocalShards

CPU = Device("cpu", 1)
TEXTS = ["the train leaves", "in six minutes from platform four", "turn left"]


@pytest.mark.parametrize("profile", Profile)
def test_our_side(chattts_tiny_ending: Path, profile: Profile) -> None:
    side = OwnSide(LocalShards(chattts_manifest(chattts_tiny_ending).shards), profile, CPU, 3)
    pace = side.speak(TEXTS, 50)
    assert (pace.rows, pace.tokens) == (3, 150)
    assert len(pace.first_audio) == 3
    assert all(0 < wait < pace.computing + pace.decoding + 1 for wait in pace.first_audio)
    assert 50 <= len(pace.steps) < 60
    assert sum(pace.steps) == pytest.approx(pace.computing + pace.decoding)
    cut = side.speak(TEXTS, 50, seconds=0)
    assert 0 < cut.tokens < 10
    side.close()


def test_texts_beyond_the_slots_wait(chattts_tiny_ending: Path) -> None:
    shards = LocalShards(chattts_manifest(chattts_tiny_ending).shards)
    side = OwnSide(shards, Profile.REALTIME, CPU, 2)
    pace = side.speak_lengths(TEXTS, [60, 20, 10])
    assert pace.tokens == 90
    # The third takes the place of the second while the first goes on.
    assert 60 <= len(pace.steps) < 70
    side.close()


@pytest.mark.parametrize("precision", Precision)
def test_the_originals_side(chattts_tiny_ending: Path, precision: Precision) -> None:
    side = OriginalSide(chattts_tiny_ending, precision)
    pace = side.speak(TEXTS, 20)
    assert (pace.rows, pace.tokens) == (3, 60)
    assert pace.computing > 0
    assert pace.decoding > 0
    assert 0 < side.speak(TEXTS, 20, seconds=0).tokens < 60
    assert side.first_audio(TEXTS[0], 80) > 0
    assert OriginalSide.available()


def test_figures_of_a_pace() -> None:
    pace = Pace(rows=2, tokens=150, computing=1.0, decoding=0.5)
    assert pace.gpt_tokens_per_second == 150
    assert pace.tokens_per_second == 100
    # 75 tokens are 1.6 s of audio.
    assert pace.real_time_factor == pytest.approx(1.5 / 1.6)
