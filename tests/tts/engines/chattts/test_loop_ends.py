"""When a row ends: by itself, at its longest, too early, or not before it may."""

import numpy as np
import pytest

from tests.tts.engines.chattts.looping import PLAIN, Scripted, generation, loop_make, run, spoken
from tts.engines.chattts.generation import End, NothingSpoken, SpokenCut, SpokenShort
from tts.engines.chattts.loop import LoopSettings


def test_an_end_at_once_is_tried_again_some_times_at_no_cost_of_others() -> None:
    backend = Scripted(ends={(0, 2)})
    loop = loop_make(backend, LoopSettings(max_retries=5))
    mute, other = loop.join(generation()), loop.join(generation())
    steps = run(loop, [mute, other])
    (only,) = steps[mute]
    assert isinstance(only.error, NothingSpoken)
    assert "the last of 6 times" in str(only.error)
    assert not only.restarted  # nothing of it had been given
    assert len(steps[other]) == 5
    # All attempts are drawn from one prompt, in one step.
    assert sum(call.of(0).count(2) for call in backend.calls) == 1
    assert loop.free_slots == 4


@pytest.mark.parametrize("retries", [0, 2])
def test_attempts_are_capped_for_each_row(retries: int) -> None:
    loop = loop_make(Scripted(ends={(0, 2), (1, 2)}), LoopSettings(max_retries=retries))
    rows = [loop.join(generation()) for _ in range(2)]
    for steps in run(loop, rows).values():
        assert f"the last of {retries + 1} times" in str(steps[0].error)


def uncertain() -> Scripted:
    """At the prompt's end, the end is likely in each codebook; later it is not."""
    return Scripted(even={2})


def test_the_next_attempt_has_numbers_of_its_own() -> None:
    loop = loop_make(uncertain(), LoopSettings(max_retries=200))
    again = loop.join(generation(seed=4, sampling=PLAIN))
    found = spoken(run(loop, [again])[again])
    assert found.end is End.LENGTH
    # The attempt that came through is the one that its number alone gives.
    for attempt in range(201):
        alone = loop_make(uncertain(), LoopSettings(max_retries=0))
        row = alone.join(generation(seed=4, attempt=attempt, sampling=PLAIN))
        steps = run(alone, [row])[row]
        if steps[-1].error is None:
            break
    assert attempt > 0
    assert spoken(steps) == found


def test_an_early_end_begins_again_and_says_so() -> None:
    backend = Scripted(ends={(0, 5)})
    loop = loop_make(backend, LoopSettings(max_retries=2))
    row = loop.join(generation(max_tokens=9, least_tokens=5))
    steps = run(loop, [row])[row]
    # Three tokens, then each time the first one of the next attempt in the place of an end.
    assert [step.restarted for step in steps] == [False] * 3 + [True, False, False] * 2 + [False]
    assert isinstance(steps[-1].error, SpokenShort)
    assert "after 3 tokens, the last of 3 times" in str(steps[-1].error)
    assert len(np.frombuffer(spoken(steps).codes, np.uint16)) == 3 * 4
    positions = [call.of(0)[0] for call in backend.calls]
    assert positions == [2, 3, 4, 5, 3, 4, 5, 3, 4, 5]
    assert [step.hidden[1] for step in steps if step.restarted and step.hidden is not None] == [
        2
    ] * 2


@pytest.mark.parametrize(("used_from", "tries"), [(3, 1), (4, 3)])
def test_an_early_end_is_final_once_tokens_may_have_been_used(used_from: int, tries: int) -> None:
    loop = loop_make(Scripted(ends={(0, 5)}), LoopSettings(max_retries=2))
    row = loop.join(generation(max_tokens=9, least_tokens=5, final_tokens=used_from))
    steps = run(loop, [row])[row]
    assert sum(step.restarted for step in steps) == tries - 1
    assert isinstance(steps[-1].error, SpokenShort)


def test_an_end_may_not_come_before_the_least_tokens() -> None:
    loop = loop_make(Scripted(ends={(0, position) for position in range(2, 60)}))
    row = loop.join(generation(max_tokens=9, min_tokens=4))
    steps = run(loop, [row])[row]
    assert [step.end for step in steps] == [None] * 4 + [End.EOS]


def test_no_more_than_max_tokens() -> None:
    loop = loop_make(Scripted())
    row = loop.join(generation(max_tokens=1))
    (step,) = run(loop, [row])[row]
    assert step.end is End.LENGTH
    assert step.codes is not None


@pytest.mark.parametrize(("ample", "cut"), [(5, False), (6, True)])
def test_a_cut_is_a_failure_where_the_row_had_too_little_room(ample: int, cut: bool) -> None:
    loop = loop_make(Scripted())
    rows = [loop.join(generation(ample_tokens=ample)), loop.join(generation(seed=1))]
    steps = run(loop, rows)
    last = steps[rows[0]][-1]
    assert (last.end, isinstance(last.error, SpokenCut)) == (None if cut else End.LENGTH, cut)
    assert steps[rows[1]][-1].end is End.LENGTH
    assert loop.free_slots == 4


def test_a_row_as_long_as_its_slot() -> None:
    backend = Scripted()
    loop = loop_make(backend)
    row = loop.join(generation(length=60, max_tokens=5))
    run(loop, [row])
    assert max(position for call in backend.calls for _, position in call.rows) == 63
