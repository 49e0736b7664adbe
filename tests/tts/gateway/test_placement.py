"""Which worker takes a request, for given heartbeats."""

import itertools
import random
from collections import Counter
from collections.abc import Collection

import pytest

from tts.engine.errors import Draining, VersionUnavailable
from tts.gateway.heartbeat import WorkerBeat, beat_decode, beat_encode
from tts.gateway.placement import Placement, WorkerRef

NUMBERS = itertools.count()


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
    placed = Placement("g1", random.Random(7))
    placed.update(beats)
    return placed


def place(placed: Placement, *, tried: Collection[WorkerRef] = ()) -> WorkerRef:
    """Place a request like no other."""
    return placed.place(f"r{next(NUMBERS)}", "v1", tried)


def test_the_worker_with_the_version_is_chosen() -> None:
    placed = placement(beat("w1", versions=("v2",)), beat("w2"))
    assert place(placed).worker_id == "w2"


def test_free_slots_go_before_a_short_queue() -> None:
    placed = placement(
        beat("w1", slots=8, free_slots=0, active=8),
        beat("w2", slots=64, free_slots=1, active=63),
    )
    assert place(placed).worker_id == "w2"


def test_own_placements_count_before_the_worker_shows_them() -> None:
    placed = placement(*(beat(f"w{n}") for n in range(2)))
    counts = Counter(place(placed).worker_id for _ in range(8))
    assert counts == {"w0": 4, "w1": 4}


def test_among_many_the_less_loaded_of_two_is_chosen() -> None:
    placed = placement(*(beat(f"w{n}") for n in range(4)))
    counts = Counter(place(placed).worker_id for _ in range(40))
    assert len(counts) == 4
    assert max(counts.values()) - min(counts.values()) <= 4


def test_a_request_that_the_worker_shows_is_counted_once() -> None:
    placed = placement(beat("w1"), beat("w2", active=5, free_slots=3))
    for _ in range(3):
        assert place(placed).worker_id == "w1"
    shown = beat("w1", active=2, waiting=1, free_slots=6, gateways={"g1": 3})
    placed.update([shown, beat("w2", active=5, free_slots=3)])
    assert [place(placed).worker_id for _ in range(2)] == ["w1", "w1"]


def test_requests_of_other_gateways_count() -> None:
    placed = placement(
        beat("w1", active=3, free_slots=5, gateways={"g2": 3}), beat("w2", active=1, free_slots=7)
    )
    assert [place(placed).worker_id for _ in range(2)] == ["w2", "w2"]


def test_a_request_that_is_over_counts_no_more() -> None:
    placed = placement(beat("w1", active=1), beat("w2", active=1))
    first = placed.place("over", "v1", ())
    placed.release("over")
    placed.update([beat("w1", active=1, gateways={}), beat("w2", active=1, gateways={})])
    assert {place(placed).worker_id, place(placed).worker_id} == {"w1", "w2"}
    other = {"w1": "w2", "w2": "w1"}[first.worker_id]
    # Its worker's last beat still has it, and is one request behind the truth.
    placed.update([beat(first.worker_id, active=4, gateways={"g1": 4}), beat(other, active=3)])
    assert place(placed).worker_id == first.worker_id


def test_a_request_that_moves_counts_at_its_new_worker_only() -> None:
    placed = placement(beat("w1"), beat("w2"))
    first = placed.place("moves", "v1", ())
    second = placed.place("moves", "v1", [first])
    assert {first.worker_id, second.worker_id} == {"w1", "w2"}
    assert place(placed).worker_id == first.worker_id


def test_ties_are_broken_by_chance() -> None:
    placed = placement(beat("w1"), beat("w2"))
    firsts = set()
    for number in range(20):
        firsts.add(placed.place(f"alone{number}", "v1", ()).worker_id)
        placed.release(f"alone{number}")
    assert firsts == {"w1", "w2"}


def test_a_worker_that_was_tried_is_not_chosen_again() -> None:
    placed = placement(beat("w1"), beat("w2"))
    assert place(placed, tried=[WorkerRef("w1", "i1")]).worker_id == "w2"
    with pytest.raises(VersionUnavailable):
        place(placed, tried=[WorkerRef("w1", "i1"), WorkerRef("w2", "i1")])


def test_a_worker_that_loads_the_version_is_better_than_one_that_does_not_know_it() -> None:
    placed = placement(beat("w1", versions=()), beat("w2", versions=(), loading=("v1",)))
    assert place(placed).worker_id == "w2"


def test_a_failed_load_is_said_without_its_reason() -> None:
    failed = {"v1": "FileNotFoundError: '/srv/models/v1.safetensors'"}
    placed = placement(beat("w1", versions=(), failed=failed))
    with pytest.raises(VersionUnavailable) as raised:
        place(placed)
    assert raised.value.message == "version v1 could not be loaded"


def test_draining_workers_take_nothing() -> None:
    placed = placement(beat("w1", draining=True))
    assert placed.versions == frozenset()
    with pytest.raises(Draining):
        place(placed)


def test_a_missing_beat_and_a_new_incarnation_end_a_life() -> None:
    placed = placement(beat("w1"), beat("w2"))
    ended = placed.update([beat("w1", incarnation="i2")])
    assert set(ended) == {WorkerRef("w1", "i1"), WorkerRef("w2", "i1")}
    assert place(placed) == WorkerRef("w1", "i2")


def test_no_worker_at_all_says_when_to_try_again() -> None:
    with pytest.raises(VersionUnavailable) as caught:
        place(placement())
    assert caught.value.retry_after is not None


def test_beats_of_another_release_are_read_or_passed_over() -> None:
    assert beat_decode(beat_encode(beat("w1"))) == beat("w1")
    assert beat_decode(b'{"worker_id":"w1","incarnation":"i","sequence":1,"new":[]}') is not None
    assert beat_decode(b'{"worker_id":1}') is None
