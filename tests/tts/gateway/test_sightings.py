"""Which workers count as alive when a beat is missing."""

import pytest

from tts.gateway.heartbeat import STARVED_SECONDS, WorkerBeat
from tts.gateway.sightings import FORGET_SECONDS, Sightings

HERE = "here"


def beat(
    name: str = "w1", *, host: str = HERE, supervised: bool = True, draining: bool = False
) -> WorkerBeat:
    return WorkerBeat(name, "life", 1, host=host, supervised=supervised, draining=draining)


def alive(beats: list[WorkerBeat]) -> set[str]:
    return {beat.worker_id for beat in beats}


def test_who_beats_is_alive() -> None:
    sightings = Sightings(HERE)
    assert alive(sightings.look({"w1", "w2"}, [beat("w1"), beat("w2")], 0.0)) == {"w1", "w2"}
    assert sightings.known == {"w1", "w2"}


def test_a_supervised_worker_of_this_machine_may_be_starved_for_a_while() -> None:
    sightings = Sightings(HERE)
    sightings.look({"w1"}, [beat()], 0.0)
    assert alive(sightings.look({"w1"}, [], 1.0)) == {"w1"}
    assert alive(sightings.look({"w1"}, [], 1.0 + STARVED_SECONDS - 0.01)) == {"w1"}
    assert alive(sightings.look({"w1"}, [], 1.0 + STARVED_SECONDS)) == set()


def test_a_beat_in_between_begins_the_count_anew() -> None:
    sightings = Sightings(HERE)
    sightings.look({"w1"}, [beat()], 0.0)
    sightings.look({"w1"}, [], 1.0)
    sightings.look({"w1"}, [beat()], STARVED_SECONDS)
    assert alive(sightings.look({"w1"}, [], STARVED_SECONDS + 1.5)) == {"w1"}


@pytest.mark.parametrize(
    "last",
    [
        pytest.param(beat(supervised=False), id="nobody announces its death"),
        pytest.param(beat(host="there"), id="on another machine"),
        pytest.param(beat(draining=True), id="it leaves"),
    ],
)
def test_others_are_dead_at_once(last: WorkerBeat) -> None:
    sightings = Sightings(HERE)
    sightings.look({"w1"}, [last], 0.0)
    assert sightings.look({"w1"}, [], 0.1) == []


def test_one_whose_death_was_announced_is_dead_until_it_beats_again() -> None:
    sightings = Sightings(HERE)
    sightings.look({"w1"}, [beat()], 0.0)
    sightings.ended("w1")
    assert sightings.look({"w1"}, [], 0.1) == []
    assert alive(sightings.look({"w1"}, [beat()], 0.2)) == {"w1"}


def test_who_is_missing_for_long_is_forgotten() -> None:
    sightings = Sightings(HERE)
    sightings.look({"w1", "never"}, [beat()], 0.0)
    sightings.look({"w1", "never"}, [], 1.0)
    assert sightings.gone(FORGET_SECONDS) == []
    assert sightings.gone(FORGET_SECONDS + 0.5) == ["never"]
    assert sightings.gone(FORGET_SECONDS + 1.5) == ["w1"]
    assert sightings.known == frozenset()
