"""Slots of the cache: who waits, who is refused, and that all come back."""

import weakref

import numpy as np
import pytest

from tests.tts.engines.chattts.looping import EMBEDDINGS, Scripted, generation, loop_make, run
from tests.tts.engines.chattts.random_gpt import TINY
from tts.engine.errors import SynthesisFailed
from tts.engines.chattts.backend import CacheShape, Floats
from tts.engines.chattts.decoding import AudioDecoding
from tts.engines.chattts.generation import Generation, GenerationRefused, Kind, Prompt
from tts.engines.chattts.loop import StepLoop
from tts.engines.chattts.random_stream import StreamKey

KEY = StreamKey(1)


def test_a_row_that_does_not_fit_waits_for_its_turn() -> None:
    loop = loop_make(Scripted(CacheShape(2, 64)))
    rows = [loop.join(generation(max_tokens=tokens)) for tokens in (2, 4, 3, 3)]
    assert (loop.rows, loop.free_slots) == (4, 2)
    first, second, third, fourth = rows
    waiting, told = list(rows), []
    while waiting:
        steps = loop.step(waiting)
        told.append(sorted(step.row for step in steps))
        waiting = [row for row in waiting if row not in {s.row for s in steps if s.ended}]
    assert told == [
        [first, second],
        [first, second],
        [second, third],
        [second, third],
        [third, fourth],
        [fourth],
        [fourth],
    ]
    assert (loop.rows, loop.free_slots) == (0, 2)


def test_rows_that_are_not_asked_for_take_no_slot() -> None:
    loop = loop_make(Scripted(CacheShape(1, 64)))
    first, second = loop.join(generation()), loop.join(generation())
    loop.step([second])
    assert loop.free_slots == 0
    assert loop.step([first]) == []
    loop.release(second)
    assert len(loop.step([first])) == 1


def test_a_released_row_frees_its_slot_in_every_state() -> None:
    backend = Scripted(CacheShape(1, 64))
    loop = loop_make(backend)
    waiting, prefill = loop.join(generation()), loop.join(generation(length=40))
    loop.step([prefill])
    loop.release(waiting)
    assert (loop.rows, loop.free_slots) == (1, 0)
    loop.release(prefill)
    assert (loop.rows, loop.free_slots) == (0, 1)
    decode = loop.join(generation())
    loop.step([decode])
    loop.release(decode)
    loop.release(decode)
    loop.release(77)
    assert (loop.rows, loop.free_slots) == (0, 1)
    ended = loop.join(generation())
    run(loop, [ended])
    loop.release(ended)
    assert loop.free_slots == 1


def test_the_lowest_slots_are_used_first() -> None:
    backend = Scripted()
    loop = loop_make(backend)
    rows = [loop.join(generation(max_tokens=9)) for _ in range(3)]
    loop.step(rows)
    loop.release(rows[1])
    loop.release(rows[0])
    again = loop.join(generation())
    loop.step([again])
    assert {slot for slot, _ in backend.calls[-1].rows} == {0}


def test_two_hundred_cancels_leave_nothing_behind() -> None:
    loop = loop_make(Scripted())
    random = np.random.default_rng(0)
    inputs: list[weakref.ref[Floats]] = []
    for _ in range(200):
        row = loop.join(generation(length=int(random.integers(1, 30))))
        for _ in range(random.integers(0, 5)):
            loop.step([row])
        kept = loop._rows[row].inputs
        inputs += [] if kept is None else [weakref.ref(kept)]
        loop.release(row)
    del kept
    assert (loop.rows, loop.free_slots) == (0, 4)
    assert len(inputs) > 10
    assert not [ref for ref in inputs if ref() is not None]


def test_memory_of_a_slot() -> None:
    loop = loop_make(Scripted(CacheShape(4, 64)))
    assert loop.slot_bytes == 1_000


SPEAKER = np.ones(TINY.hidden, np.float32)
REFUSED = {
    "take 65 positions, a slot has 64": generation(length=60, max_tokens=6),
    "a prompt needs text tokens": Generation(Prompt(()), KEY, 5),
    "each from 0 to 49": Generation(Prompt((3, 50)), KEY, 5),
    "min_tokens 4 must be from 0": generation(max_tokens=3, min_tokens=4),
    "from 1 to max_tokens 0": generation(max_tokens=0),
    "go together": Generation(Prompt((1,), speaker=SPEAKER), KEY, 5),
    "position 1 is not in": Generation(Prompt((1,), 1, SPEAKER), KEY, 5),
    "64 finite numbers": Generation(Prompt((1,), 0, SPEAKER * np.nan), KEY, 5),
    r"a sample is \(4, t\)": Generation(Prompt((1,), sample=np.zeros((3, 2), np.uint16)), KEY, 5),
    "from 0 to 38": Generation(Prompt((1,), sample=np.full((4, 2), 39, np.uint16)), KEY, 5),
}


@pytest.mark.parametrize("complaint", REFUSED)
def test_what_never_fits_is_refused_at_once(complaint: str) -> None:
    loop = loop_make(Scripted())
    with pytest.raises(GenerationRefused, match=complaint) as refused:
        loop.join(REFUSED[complaint])
    assert isinstance(refused.value, SynthesisFailed)
    assert (loop.rows, loop.free_slots) == (0, 4)


def test_a_kind_that_the_model_has_not_is_refused() -> None:
    audio = AudioDecoding(TINY, EMBEDDINGS, 4)
    loop = StepLoop(Scripted(), TINY, EMBEDDINGS, {Kind.AUDIO: audio})
    with pytest.raises(GenerationRefused, match="does not speak text tokens"):
        loop.join(generation(kind=Kind.TEXT))
