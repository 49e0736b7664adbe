"""Rows join, share steps, pause and leave, each for itself."""

from collections.abc import Sequence

import numpy as np
import pytest

from tests.tts.engines.chattts.looping import (
    AUDIO_END,
    EMBEDDINGS,
    PLAIN,
    Scripted,
    generation,
    loop_make,
    run,
)
from tts.engines.chattts.backend import CacheShape
from tts.engines.chattts.generation import End, Kind, NotFinite
from tts.engines.chattts.loop import LoopSettings
from tts.engines.chattts.weights import Embeddings


def test_a_row_is_computed_token_by_token() -> None:
    backend = Scripted()
    loop = loop_make(backend)
    row = loop.join(generation(length=3, max_tokens=4))
    steps = run(loop, [row])[row]
    assert [call.of(0) for call in backend.calls] == [[2, 0, 1], [3], [4], [5]]
    assert [call.heads for call in backend.calls] == [1] * 4
    assert [step.end for step in steps] == [None, None, None, End.LENGTH]
    assert all(step.codes is not None and (step.codes == 1).all() for step in steps)
    assert [step.hidden[1] for step in steps if step.hidden is not None] == [2, 3, 4, 5]
    assert (loop.rows, loop.free_slots) == (0, 4)


def test_an_end_is_no_token() -> None:
    loop = loop_make(Scripted(ends={(0, 4)}))
    row = loop.join(generation(length=3, max_tokens=9))
    steps = run(loop, [row])[row]
    assert [step.codes is None for step in steps] == [False, False, True]
    assert steps[-1].hidden is None
    assert steps[-1].end is End.EOS


def test_an_end_in_any_codebook_ends() -> None:
    loop = loop_make(Scripted(even=set(range(64))), LoopSettings(max_retries=0))
    rows = [loop.join(generation(max_tokens=50, seed=seed, sampling=PLAIN)) for seed in range(40)]
    steps = run(loop, rows)
    tokens = [len(found) - 1 for found in steps.values()]
    # In all four codebooks three of four tokens go on: 0.46 tokens on average.
    assert 6 < sum(tokens) < 36
    assert all(
        (step.codes != AUDIO_END).all()
        for found in steps.values()
        for step in found
        if step.codes is not None
    )


def test_rows_share_a_step_and_prompts_come_in_pieces() -> None:
    backend = Scripted(CacheShape(4, 64))
    loop = loop_make(backend, LoopSettings(prefill_rows=5))
    first = loop.join(generation(length=2, max_tokens=30))
    loop.step([first])
    second, third = loop.join(generation(length=12)), loop.join(generation(length=4))
    for _ in range(4):
        loop.step([third, first, second])
    assert [call.of(0) for call in backend.calls[1:]] == [[2], [3], [4], [5]]
    # First come, first served; five positions beside the row that decodes.
    assert [sorted(call.of(1)) for call in backend.calls[1:]] == [
        [0, 1, 2, 3, 4],
        [5, 6, 7, 8, 9],
        [10, 11],
        [12],
    ]
    assert [sorted(call.of(2)) for call in backend.calls[1:]] == [[], [], [0, 1, 2], [3]]
    assert [call.heads for call in backend.calls[1:]] == [1, 1, 2, 3]


def test_prompts_alone_fill_the_backend() -> None:
    backend = Scripted(max_rows=16)
    loop = loop_make(backend, LoopSettings(prefill_rows=2))
    rows = [loop.join(generation(length=20)) for _ in range(2)]
    assert loop.step(rows) == []
    assert [len(call.rows) for call in backend.calls] == [16]
    assert [len(backend.calls[0].of(slot)) for slot in (0, 1)] == [16, 0]


def test_a_paused_row_goes_on_where_it_was() -> None:
    backend = Scripted()
    loop = loop_make(backend)
    paused, other = (loop.join(generation(seed=seed)) for seed in (1, 2))
    loop.step([paused, other])
    run(loop, [other])
    assert loop.rows == 1
    steps = run(loop, [paused])[paused]
    assert len(steps) == 4
    assert backend.calls[-4].rows == [(0, 3)]


def test_the_last_token_is_the_next_input() -> None:
    backend = Scripted()
    loop = loop_make(backend)
    ones = EMBEDDINGS.codes(np.ones((1, 4), np.int64))[0, 0]
    row = loop.join(generation())
    steps = run(loop, [row])[row]
    assert [step.hidden[2] for step in steps[1:] if step.hidden is not None] == [ones] * 4


def test_text_and_audio_share_a_step() -> None:
    backend = Scripted()
    loop = loop_make(backend)
    audio = loop.join(generation(max_tokens=6))
    text = loop.join(generation(max_tokens=6, kind=Kind.TEXT, min_tokens=6, sampling=PLAIN))
    steps = run(loop, [audio, text])
    assert len(backend.calls) == 6
    assert [step.codes.shape for step in steps[text] if step.codes is not None] == [(1,)] * 6
    assert [step.codes.shape for step in steps[audio] if step.codes is not None] == [(4,)] * 6


def test_numbers_that_overflow_end_their_own_row_alone() -> None:
    backend = Scripted(broken={(1, 4)})
    loop = loop_make(backend)
    rows = [loop.join(generation(seed=seed)) for seed in range(3)]
    steps = run(loop, rows)
    assert [len(steps[row]) for row in rows] == [5, 3, 5]
    failure = steps[rows[1]][-1].error
    assert isinstance(failure, NotFinite)
    assert "after 2 tokens" in str(failure)
    assert [steps[row][-1].end for row in rows] == [End.LENGTH, None, End.LENGTH]
    assert loop.free_slots == 4


def test_text_that_overflows_at_its_head_alone_ends_too() -> None:
    loop = loop_make(Scripted(hidden=3e38))
    rows = [loop.join(generation(length=1, kind=kind)) for kind in Kind]
    steps = {step.row: step for step in loop.step(rows)}
    assert steps[rows[0]].error is None
    assert isinstance(steps[rows[1]].error, NotFinite)


def test_a_row_whose_prompt_cannot_be_made_ends_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = loop_make(Scripted())
    bad, good = loop.join(generation(seed=1)), loop.join(generation(seed=2))
    prompt = Embeddings.prompt

    def fail(embeddings: Embeddings, ids: Sequence[int], *rest: object) -> object:
        if ids[0] == 1:
            raise MemoryError
        return prompt(embeddings, ids, *rest)  # type: ignore[arg-type]  # as they came

    monkeypatch.setattr(Embeddings, "prompt", fail)
    steps = run(loop, [bad, good])
    (only,) = steps[bad]
    assert str(only.error) == "beginning to speak failed: MemoryError"
    assert [step.end for step in steps[good]][-1] is End.LENGTH
    assert (loop.rows, loop.free_slots) == (0, 4)


def test_a_call_that_fails_changes_no_row() -> None:
    backend = Scripted()
    loop = loop_make(backend)
    rows = [loop.join(generation(seed=seed)) for seed in range(2)]
    backend.failure = MemoryError("no room")
    for _ in range(2):
        with pytest.raises(MemoryError):
            loop.step(rows)
    backend.failure = None
    early = loop.step(rows)
    assert len(early) == 2
    backend.failure = MemoryError("no room")
    with pytest.raises(MemoryError):
        loop.step(rows)
    backend.failure = None
    assert [len(steps) for steps in run(loop, rows).values()] == [4, 4]


def test_a_row_asked_for_twice_is_computed_once() -> None:
    backend = Scripted()
    loop = loop_make(backend)
    row = loop.join(generation())
    assert len(loop.step([row, row])) == 1
    assert len(backend.calls[0].rows) == 3


def test_rows_that_are_not_here() -> None:
    backend = Scripted()
    loop = loop_make(backend)
    row, gone = loop.join(generation()), loop.join(generation())
    loop.release(gone)
    with pytest.raises(ValueError, match=rf"rows \[{gone}, 99\] have ended"):
        loop.step([99, row, gone])
    assert backend.calls == []
    assert loop.step([]) == []


def test_a_backend_that_cannot_advance_all_slots_at_once() -> None:
    with pytest.raises(ValueError, match="a step of 3 rows cannot advance 4 slots"):
        loop_make(Scripted(max_rows=3))
