"""A benchmark divides its time and says how much of it is spent."""

import pytest

from voicehost.bench.budget import Budget, Progress


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_time_runs_out(clock: Clock) -> None:
    budget = Budget(60, clock)
    clock.now += 45
    assert (budget.spent, budget.left) == (45, 15)
    clock.now += 45
    assert budget.left == 0


def test_a_part_is_a_share_of_what_is_left(clock: Clock) -> None:
    budget = Budget(100, clock)
    clock.now += 20
    assert budget.part(0.5, most=60).left == 40
    assert budget.part(0.5, most=10).left == 10


def test_a_part_of_nothing_ends_at_once(clock: Clock) -> None:
    budget = Budget(10, clock)
    clock.now += 10
    part = budget.part(0.5, most=60)
    clock.now += 0.01
    assert part.left == 0


def test_what_was_spent_before_counts(clock: Clock) -> None:
    budget = Budget(100, clock)
    budget.use(30)
    assert (budget.spent, budget.left) == (30, 70)


def test_progress_states_the_budget(clock: Clock) -> None:
    lines: list[str] = []
    progress = Progress(Budget(90, clock), lines.append)
    clock.now += 12
    progress.say("measuring")
    assert lines == ["[ 12.0 of 90 s] measuring"]


def test_no_budget_is_refused(clock: Clock) -> None:
    with pytest.raises(ValueError, match="more than 0"):
        Budget(0, clock)
