"""A crowd's largest number is found, and audio that comes too late is an underrun."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tts.engine.request import Profile
from tts.engines.base import Device
from tts.engines.chattts.bench import crowd
from tts.engines.chattts.bench.crowd import (
    MOST_STREAMS,
    TRIES_OF_ONE,
    UTTERANCES,
    Crowd,
    Heard,
    Playback,
    most_streams,
)
from tts.engines.chattts.lengths import TOKEN_SECONDS
from tts.engines.chattts.manifest import chattts_manifest
from tts.engines.shards import LocalShards

CPU = Device("cpu", 1)
TEXTS = ["the train leaves", "in six minutes from platform four"]
TOKENS = 40
HOLD_BACK = 0.25


class Machine:
    """Plays up to `most` listeners; notes how many came."""

    def __init__(self, most: int, whole: bool = True) -> None:
        self.most, self.whole = most, whole
        self.tried: list[int] = []

    def play(self, streams: int, seconds: float) -> Heard:
        assert seconds > 0
        self.tried.append(streams)
        late = 0.0 if streams <= self.most else 0.1
        return Heard(streams, late, 0.5, self.whole and not late)


@pytest.mark.parametrize("most", range(1, MOST_STREAMS + 1))
def test_the_largest_crowd_is_found(most: int) -> None:
    machine = Machine(most)
    heard, sure = most_streams(machine.play, 60.0)
    assert heard is not None
    assert (heard.streams, sure) == (most, True)
    assert machine.tried[0] == 1
    assert len(machine.tried) <= 7
    assert len(set(machine.tried)) == len(machine.tried)


def test_not_even_one() -> None:
    machine = Machine(0)
    assert most_streams(machine.play, 60.0) == (None, True)
    assert machine.tried == [1] * TRIES_OF_ONE


def test_a_moment_of_disturbance_does_not_say_that_nobody_can_listen() -> None:
    machine = Machine(5)

    def disturbed(streams: int, seconds: float) -> Heard:
        heard = machine.play(streams, seconds)
        return heard if len(machine.tried) > 1 else Heard(streams, 0.3, 0.5, whole=False)

    heard, sure = most_streams(disturbed, 60.0)
    assert heard is not None
    assert (heard.streams, sure) == (5, True)


def test_time_that_is_over_leaves_it_open() -> None:
    assert most_streams(Machine(MOST_STREAMS, whole=False).play, 60.0) == (None, False)
    assert most_streams(Machine(MOST_STREAMS).play, 0.0) == (None, False)


@pytest.mark.parametrize("hold_back", [0.0, 0.2])
def test_playback_begins_with_its_first_audio_and_what_it_holds_back(hold_back: float) -> None:
    playback = Playback(asked=1.0, hold_back=hold_back)
    playback.arrived(0.5, now=3.0)
    playback.arrived(0.25, now=3.5 + hold_back)
    assert playback.late == 0.0
    playback.arrived(1.0, now=3.85 + hold_back)
    playback.arrived(1.0, now=4.0)
    assert playback.late == pytest.approx(0.1)
    assert playback.ends == pytest.approx(5.75 + hold_back)


@pytest.mark.parametrize(("late", "whole"), [(0.001, True), (0.0, False)])
def test_one_late_window_is_enough(late: float, whole: bool) -> None:
    assert Heard(4, 0.0, 1.0, whole=True).plays
    assert not Heard(4, late, 1.0, whole).plays


@pytest.fixture
def tiny(chattts_tiny: Path) -> Iterator[Crowd]:
    shards = LocalShards(chattts_manifest(chattts_tiny).shards)
    made = Crowd(shards, Profile.REALTIME, CPU, TOKENS, HOLD_BACK)
    yield made
    made.close()


def test_each_listener_hears_every_utterance_whole(
    tiny: Crowd, monkeypatch: pytest.MonkeyPatch
) -> None:
    played: list[Playback] = []

    class Noted(Playback):
        def __init__(self, asked: float, hold_back: float) -> None:
            super().__init__(asked, hold_back)
            played.append(self)

        def arrived(self, seconds: float, now: float) -> None:
            super().arrived(seconds, now)
            self.late = 0.0  # however slow this machine is

    monkeypatch.setattr(crowd, "Playback", Noted)
    heard = tiny.play(3, TEXTS, 60.0)
    assert heard.whole
    assert len(played) == 3 * UTTERANCES
    assert {each.hold_back for each in played} == {HOLD_BACK}
    half = TOKEN_SECONDS / 2
    assert all(each.seconds == pytest.approx(tiny.length - half) for each in played)
    # Spread over one length: a third of it apart.
    asked = sorted(each.asked for each in played)[:3]
    assert asked == pytest.approx([0.0, tiny.length / 3, tiny.length * 2 / 3], abs=1e-6)
    assert heard.waited > 0


def test_it_stops_at_the_first_late_audio(tiny: Crowd, monkeypatch: pytest.MonkeyPatch) -> None:
    def late(playback: Playback, seconds: float, now: float) -> None:
        playback.late = 0.25

    monkeypatch.setattr(Playback, "arrived", late)
    heard = tiny.play(4, TEXTS, 60.0)
    assert (heard.late, heard.whole, heard.plays) == (0.25, False, False)


def test_it_stops_when_the_time_is_over(tiny: Crowd) -> None:
    assert not tiny.play(2, TEXTS, 0.0).plays
