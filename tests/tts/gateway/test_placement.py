"""Which worker takes a request, for given heartbeats."""

import random

import pytest

from tts.engine.errors import Draining, VersionUnavailable
from tts.gateway.heartbeat import WorkerBeat, beat_decode, beat_encode
from tts.gateway.placement import Placement, WorkerRef


def beat(worker_id: str, **changes: object) -> WorkerBeat:
    values: dict[str, object] = {
        "worker_id": worker_id,
        "incarnation": "i1",
        "sequence": 1,
        "versions": ("v1",),
        "slots": 8,
        "free_slots": 8,
        **changes,
    }
    return WorkerBeat(**values)  # type: ignore[arg-type]  # values by name, checked by use


def placement(*beats: WorkerBeat) -> Placement:
    placed = Placement(random.Random(7))
    placed.update(beats)
    return placed


def test_the_worker_with_the_version_is_chosen() -> None:
    placed = placement(beat("w1", versions=("v2",)), beat("w2"))
    assert placed.choose("v1", ()).worker_id == "w2"


def test_free_slots_go_before_a_short_queue() -> None:
    placed = placement(
        beat("w1", slots=8, free_slots=0, active=8),
        beat("w2", slots=64, free_slots=1, active=63),
    )
    assert placed.choose("v1", ()).worker_id == "w2"


def test_own_placements_count_before_the_worker_has_seen_them() -> None:
    placed = placement(*(beat(f"w{n}") for n in range(4)))
    counts: dict[str, int] = {}
    for _ in range(40):
        chosen = placed.choose("v1", ()).worker_id
        counts[chosen] = counts.get(chosen, 0) + 1
    assert len(counts) == 4
    assert max(counts.values()) - min(counts.values()) <= 4


def test_placements_are_not_counted_twice_once_the_worker_has_seen_them() -> None:
    placed = placement(beat("w1"), beat("w2", active=1, free_slots=7))
    assert placed.choose("v1", ()).worker_id == "w1"
    placed.update([beat("w1", sequence=3, active=0), beat("w2", active=1, free_slots=7)])
    assert placed.choose("v1", ()).worker_id == "w1"


def test_a_worker_that_was_tried_is_not_chosen_again() -> None:
    placed = placement(beat("w1"), beat("w2"))
    assert placed.choose("v1", [WorkerRef("w1", "i1")]).worker_id == "w2"
    with pytest.raises(VersionUnavailable):
        placed.choose("v1", [WorkerRef("w1", "i1"), WorkerRef("w2", "i1")])


def test_a_worker_that_loads_the_version_is_better_than_one_that_does_not_know_it() -> None:
    placed = placement(beat("w1", versions=()), beat("w2", versions=(), loading=("v1",)))
    assert placed.choose("v1", ()).worker_id == "w2"


def test_a_failed_load_is_said_without_its_reason() -> None:
    failed = {"v1": "FileNotFoundError: '/srv/models/v1.safetensors'"}
    placed = placement(beat("w1", versions=(), failed=failed))
    with pytest.raises(VersionUnavailable) as raised:
        placed.choose("v1", ())
    assert raised.value.message == "version v1 could not be loaded"


def test_draining_workers_take_nothing() -> None:
    placed = placement(beat("w1", draining=True))
    assert placed.versions == frozenset()
    with pytest.raises(Draining):
        placed.choose("v1", ())


def test_a_missing_beat_and_a_new_incarnation_end_a_life() -> None:
    placed = placement(beat("w1"), beat("w2"))
    ended = placed.update([beat("w1", incarnation="i2")])
    assert set(ended) == {WorkerRef("w1", "i1"), WorkerRef("w2", "i1")}
    assert placed.choose("v1", ()) == WorkerRef("w1", "i2")


def test_no_worker_at_all_says_when_to_try_again() -> None:
    with pytest.raises(VersionUnavailable) as caught:
        placement().choose("v1", ())
    assert caught.value.retry_after is not None


def test_beats_of_another_release_are_read_or_passed_over() -> None:
    assert beat_decode(beat_encode(beat("w1"))) == beat("w1")
    assert beat_decode(b'{"worker_id":"w1","incarnation":"i","sequence":1,"new":[]}') is not None
    assert beat_decode(b'{"worker_id":1}') is None
