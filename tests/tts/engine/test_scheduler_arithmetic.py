"""Costs, shares and the learned wait: small sums with known answers."""

import random
from itertools import pairwise
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tts.engine.config import BatchingConfig, CoreConfig
from tts.engine.costs import ArrivalGap, LinearCost, RealTimeFactor
from tts.engine.fairness import TenantShares
from tts.engine.job import EngineState, Job, PendingSegment
from tts.engine.lanes import hold_until
from tts.engine.request import Priority, Profile
from tts.engines.base import EngineKind, EngineTraits


def test_the_line_is_found_through_noise_and_outliers() -> None:
    dice, cost = random.Random(1), LinearCost()
    for _ in range(300):
        rows = dice.randrange(1, 9)
        seconds = 0.010 + 0.003 * rows + dice.uniform(-0.0003, 0.0003)
        cost.observe(rows, seconds if dice.random() > 0.1 else 5.0)
    assert cost.fixed == pytest.approx(0.010, abs=0.001)
    assert cost.per_row == pytest.approx(0.003, rel=0.1)
    assert cost.predict(8) == pytest.approx(0.034, rel=0.05)


def test_steps_that_are_dear_now_and_then_count_with_their_mean() -> None:
    cost = LinearCost()
    for step in range(400):
        cost.observe(1 + step % 2, 0.010 if step % 20 > 1 else 0.050)
    assert cost.predict(1) == pytest.approx(0.014, rel=0.15)
    assert cost.predict(2) == pytest.approx(0.014, rel=0.15)


def test_nothing_is_predicted_before_it_is_known() -> None:
    cost = LinearCost()
    for _ in range(7):
        cost.observe(4, 0.04)
    assert not cost.known
    assert cost.predict(8) == 0.0
    cost.observe(4, 0.04)
    assert cost.predict(5) == pytest.approx(0.04), "one size only: one row more is tried"
    assert cost.predict(10) == pytest.approx(0.08), "and what lies beyond is proportional to it"
    assert cost.predict(0) == 0.0


@pytest.mark.parametrize("seen", [[(1, 0.15)], [(1, 0.15), (2, 0.16)], [(4, 0.04), (8, 0.06)]])
def test_rows_within_a_time_are_those_that_are_predicted_to_fit(
    seen: list[tuple[int, float]],
) -> None:
    cost = LinearCost()
    assert cost.rows_within(0.2) == inf
    for rows, seconds in seen * 8:
        cost.observe(rows, seconds)
    for limit in (0.01, 0.15, 0.2, 1.0):
        rows = int(cost.rows_within(limit))
        assert rows == 1 or cost.predict(rows) <= limit + 1e-9
        assert cost.predict(rows + 1) > limit - 1e-9


def test_a_machine_that_slows_down_is_believed() -> None:
    cost = LinearCost()
    for rows in [1, 2, 4, 8] * 20:
        cost.observe(rows, 0.01 + 0.001 * rows)
    for _ in range(40):
        for rows in (6, 7, 8):
            cost.observe(rows, 2 * (0.01 + 0.001 * rows))
    assert cost.predict(8) > 1.6 * 0.018


@given(st.lists(st.tuples(st.integers(1, 16), st.floats(1e-6, 10.0)), min_size=8, max_size=60))
def test_a_prediction_is_never_negative_and_never_shrinks(seen: list[tuple[int, float]]) -> None:
    cost = LinearCost()
    for rows, seconds in seen:
        cost.observe(rows, seconds)
    predictions = [cost.predict(rows) for rows in range(1, 33)]
    assert all(p >= -1e-9 for p in predictions)
    assert all(b >= a - 1e-9 for a, b in pairwise(predictions))


def test_the_real_time_factor_leaves_a_cold_start_out() -> None:
    factor = RealTimeFactor()
    factor.observe("full", 30.0, 1.0)
    assert factor.of("full") == 0.0
    for _ in range(10):
        factor.observe("full", 0.5, 2.0)
        factor.observe("full", 0.0, 0.0)
    assert factor.of("full") == pytest.approx(0.25)


def test_a_rare_dear_kind_has_its_own_real_time_factor() -> None:
    factor = RealTimeFactor()
    for _ in range(30):
        factor.observe("distilled", 0.02, 2.0)
    assert factor.of("full") == pytest.approx(0.01), "nothing else is known"
    for _ in range(3):
        factor.observe("full", 0.8, 2.0)
    assert factor.of("full") == pytest.approx(0.4)
    assert factor.of("distilled") == pytest.approx(0.01)
    assert factor.of(None) == pytest.approx((30 * 0.02 + 3 * 0.8) / 66.0)


def test_a_newcomer_neither_catches_up_nor_pays() -> None:
    shares = TenantShares()
    shares.join("old")
    shares.charge("old", 100.0)
    shares.join("new")
    assert shares.passed("new") == 100.0
    shares.charge("new", 5.0)
    shares.leave("new")
    shares.join("new")
    assert shares.passed("new") == 105.0, "leaving does not forgive"
    shares.charge("old", 50.0)
    shares.leave("new")
    shares.join("new")
    assert shares.passed("new") == 150.0
    shares.leave("new")
    shares.leave("old")
    assert len(shares) == 0


def engine_with(fixed: float, per_row: float, gaps: list[float], **limits: object) -> EngineState:
    traits = EngineTraits(EngineKind.UTTERANCE, 24_000, ("en",), batches=True)
    batching = BatchingConfig(**{"max_slots": 8, "max_batch": 8, "max_wait_seconds": 0.05} | limits)  # type: ignore[arg-type]  # a test's
    engine = EngineState(("v", Profile.STANDARD), traits, batching)
    for rows in range(1, 9):
        engine.cost.observe(rows, fixed + per_row * rows)
    now = 0.0
    for gap in [0.0, *gaps]:
        now += gap
        engine.gap.observe(now)
    return engine


def jobs_of(engine: EngineState, *ready: float) -> list[Job]:
    jobs = []
    for number, at in enumerate(ready):
        job = Job(f"r{number}", "t", Priority.STANDARD, engine, at, number, 10.0)
        job.pending.append(PendingSegment(0, 1.0, at))
        jobs.append(job)
    return jobs


def test_the_wait_ends_by_size_by_time_and_when_it_stops_paying() -> None:
    engine = engine_with(0.2, 0.01, [0.01] * 9)
    last = engine.gap.last
    assert last is not None
    assert hold_until(engine, jobs_of(engine, last), last) == pytest.approx(last + 0.02)
    assert hold_until(engine, jobs_of(engine, last - 0.04), last) == pytest.approx(last + 0.01)
    assert hold_until(engine, jobs_of(engine, last - 0.05), last) is None, "waited enough"
    assert hold_until(engine, jobs_of(engine, *[last] * 8), last) is None, "full"
    assert hold_until(engine, jobs_of(engine, last), last + 0.021) is None, "overdue"
    assert hold_until(engine, [], last) is None
    cheap = engine_with(0.005, 0.01, [0.01] * 9)
    assert hold_until(cheap, jobs_of(cheap, last), last) is None, "does not pay"
    eager = engine_with(0.2, 0.01, [0.01] * 9, max_wait_seconds=0.0)
    assert hold_until(eager, jobs_of(eager, last), last) is None


def test_the_usual_gap_survives_a_pause() -> None:
    gap = ArrivalGap()
    assert gap.seconds is None
    for at in (0.0, 1.0, 2.0, 3.0, 100.0):
        gap.observe(at)
    assert gap.seconds == 1.0


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("max_waiting", 0),
        ("lanes", 0),
        ("safety_factor", 0.9),
        ("offline_slots_share", 0.0),
        ("offline_slots_share", 1.1),
        ("max_preemptions", -1),
        ("max_failures", 0),
        ("stall_seconds", 0.0),
        ("chunk_seconds", -1.0),
    ],
)
def test_settings_out_of_range_are_named(field: str, value: float) -> None:
    with pytest.raises(ValueError, match=field):
        CoreConfig(**{field: value})  # type: ignore[arg-type]  # a test's
