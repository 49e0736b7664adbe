"""Refinement, every take and every attempt have random numbers of their own."""

from pathlib import Path

import pytest

from tests.tts.engines.chattts.joined import joined_noted
from tests.tts.engines.chattts.scripted_takes import engine_scripted, hum
from tests.tts.engines.chattts.speaking import Bench
from tts.engine.request import Profile
from tts.engines.chattts.generation import Generation, Kind
from tts.engines.chattts.loop import LoopSettings
from tts.engines.chattts.profile import PROFILES
from tts.engines.chattts.random_stream import RandomStream

TAKES = PROFILES[Profile.HQ].takes
ATTEMPTS = LoopSettings().max_retries + 1


@pytest.fixture
def joined(monkeypatch: pytest.MonkeyPatch) -> list[Generation]:
    """What the step loop is asked for."""
    return joined_noted(monkeypatch)


@pytest.fixture
def hq(chattts_tiny: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    slots = range(PROFILES[Profile.HQ].cache.slots)
    return engine_scripted(
        chattts_tiny, Profile.HQ, monkeypatch, dict.fromkeys(slots, 33), dict.fromkeys(slots, hum)
    )


def numbers(generation: Generation) -> list[bytes]:
    """What each attempt begins with."""
    key = generation.key
    return [
        RandomStream(key.retried(key.attempt + attempt)).draw(4).tobytes()
        for attempt in range(ATTEMPTS)
    ]


def test_takes_share_no_numbers(hq: Bench, joined: list[Generation]) -> None:
    hq.speak(hq.prepare("hello there"))
    takes = [generation for generation in joined if generation.kind is Kind.AUDIO]
    assert len(takes) == TAKES
    assert len({drawn for take in takes for drawn in numbers(take)}) == TAKES * ATTEMPTS
    hq.engine.close()


def test_refinement_shares_none_with_takes(hq: Bench, joined: list[Generation]) -> None:
    hq.speak(hq.prepare("hello there"))
    refinement, *takes = joined
    assert refinement.kind is Kind.TEXT
    assert set(numbers(refinement)).isdisjoint(drawn for take in takes for drawn in numbers(take))
    hq.engine.close()


def test_takes_of_one_seed_are_the_same_again(hq: Bench, joined: list[Generation]) -> None:
    hq.speak(hq.prepare("hello there", seed=3), hq.prepare("hello there", seed=3))
    assert len(joined) == 2 * (TAKES + 1)
    assert len({generation.key for generation in joined}) == TAKES + 1
    hq.engine.close()
