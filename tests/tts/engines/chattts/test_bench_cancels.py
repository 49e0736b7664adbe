"""Cancels in every state leave nothing behind, and what they would leave is seen."""

import os
from pathlib import Path

import pytest

from tts.engine.errors import SynthesisFailed
from tts.engine.request import Profile
from tts.engines.base import Device, Utterance
from tts.engines.chattts.bench import cancels
from tts.engines.chattts.bench.cancels import (
    FIRST,
    Cancels,
    Left,
    State,
    StatefulEngine,
    cancels_measure,
)
from tts.engines.chattts.bench.memory import Memory, engine_load
from voicehost.bench.texts import SHORT

CPU = Device("cpu", 1)
COUNT = 40
LEAK = 1 << 19


class Forgetful(StatefulEngine):
    """Forgets to release its first utterance that has a row."""

    def __init__(self) -> None:
        super().__init__()
        self.forgot = False

    def release(self, utterance: Utterance) -> None:
        if self.forgot or utterance.utterance_id not in self._speeches:
            super().release(utterance)
        self.forgot = True


class Hoarding(StatefulEngine):
    """Keeps half a megabyte of every utterance that is released."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[bytes] = []

    def release(self, utterance: Utterance) -> None:
        super().release(utterance)
        self.kept.append(os.urandom(LEAK))


class Failing(StatefulEngine):
    def _begin(self, utterance: Utterance) -> None:
        raise SynthesisFailed("this engine does not begin")


def cancel(engine: StatefulEngine, folder: Path, count: int) -> Left:
    run = Cancels(engine_load(engine, folder, Profile.REALTIME, CPU), Profile.REALTIME, SHORT)
    before = Memory.read()
    run.run(count)
    left = run.left(Memory.read().anonymous - before.anonymous)
    run.close()
    return left


@pytest.mark.parametrize("profile", [Profile.REALTIME, Profile.HQ])
def test_nothing_is_left(chattts_tiny: Path, profile: Profile) -> None:
    left = cancels_measure(chattts_tiny, profile, CPU, SHORT, COUNT)
    assert left.cancelled == dict.fromkeys(State, COUNT // len(State))
    assert (left.slots, left.rows, left.utterances, left.requests) == (0, 0, 0, False)
    assert left.growth < 4 << 20
    assert COUNT > FIRST


def test_a_slot_that_is_not_freed_is_seen(chattts_tiny: Path) -> None:
    left = cancel(Forgetful(), chattts_tiny, 8)
    assert (left.slots, left.rows, left.utterances) == (1, 1, 1)


def test_memory_that_is_not_freed_is_seen(chattts_tiny: Path) -> None:
    engine = Hoarding()
    left = cancel(engine, chattts_tiny, 8)
    assert len(engine.kept) >= 6
    assert left.growth > len(engine.kept) * LEAK * 0.9


def test_requests_that_fail_are_no_cancels(chattts_tiny: Path) -> None:
    with pytest.raises(SynthesisFailed, match="does not begin"):
        cancel(Failing(), chattts_tiny, 8)


def test_a_state_that_never_comes_ends_it(
    chattts_tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cancels, "_MOST_TURNS", 3)
    monkeypatch.setattr(StatefulEngine, "state", lambda *_: None)
    with pytest.raises(SynthesisFailed, match="in the state waiting, prefill"):
        cancel(StatefulEngine(), chattts_tiny, 8)
