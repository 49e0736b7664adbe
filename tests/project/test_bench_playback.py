"""A stream is late when its audio comes after a player would have needed it."""

import pytest

from voicehost.bench.playback import HOLD_BACK, Playback

RATE = 1000
"""Bytes a second."""


@pytest.fixture
def playback() -> Playback:
    return Playback(RATE)


def test_audio_in_time_is_not_late(playback: Playback) -> None:
    for second in range(5):
        playback.arrived(RATE, 10.0 + second)
    assert playback.lateness == [0.0] * 5
    assert playback.underruns == 0
    assert playback.ahead(14.0) == 1.0


def test_lateness_is_measured_from_the_first_byte(playback: Playback) -> None:
    playback.arrived(500, 10.0)
    playback.arrived(500, 10.6)
    playback.arrived(500, 11.05)
    assert playback.lateness == pytest.approx([0.0, 0.1, 0.05])
    assert playback.underruns == 0


def test_a_player_runs_dry_beyond_what_it_held_back(playback: Playback) -> None:
    playback.arrived(500, 10.0)
    playback.arrived(500, 10.5 + HOLD_BACK + 0.01)
    assert playback.underruns == 1


def test_a_burst_gets_ahead(playback: Playback) -> None:
    playback.arrived(8 * RATE, 10.0)
    assert playback.ahead(11.0) == 7.0


def test_nothing_is_ahead_before_the_first_byte(playback: Playback) -> None:
    assert playback.ahead(99.0) == 0.0
