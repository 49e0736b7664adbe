"""Windows end where the token index says, however the tokens come."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tts.engine.request import Profile
from tts.engines.chattts.windows import PLANS, Rows, StreamingDecoder, Window, WindowPlan

PLAN = WindowPlan((8, 16, 24), 48, 16)
plans = st.builds(
    WindowPlan,
    st.lists(st.integers(1, 20), max_size=4).map(tuple),
    st.integers(1, 30),
    st.integers(1, 20),
)


def numbered(tokens: int) -> Rows:
    """Rows that say which token they are."""
    return np.arange(tokens, dtype=np.float32)[:, None]


def windows_of(plan: WindowPlan, rows: Rows, steps: list[int]) -> list[Window]:
    stream, windows, position = StreamingDecoder(plan), list[Window](), 0
    for step in steps:
        stream.push(rows[position : position + step])
        position += step
        while (window := stream.due()) is not None:
            windows.append(window)
    stream.push(rows[position:])
    return [*windows, *stream.finish()]


def described(window: Window) -> tuple[int, int, bool, list[float]]:
    return window.start, window.settled, window.last, window.rows[:, 0].tolist()


def test_windows_grow() -> None:
    windows = windows_of(PLAN, numbered(200), [])
    assert [(window.start, window.settled, len(window.rows)) for window in windows] == [
        (0, 8, 24),
        (8, 16, 32),
        (24, 24, 40),
        (48, 48, 64),
        (96, 48, 64),
        (144, 56, 56),
    ]
    assert [window.last for window in windows] == [False] * 5 + [True]
    assert windows[1].rows[:, 0].tolist() == list(range(8, 40))


def test_first_window_is_due_with_its_context() -> None:
    stream = StreamingDecoder(PLAN)
    stream.push(numbered(PLAN.first_tokens - 1))
    assert stream.due() is None
    stream.push(numbered(1))
    window = stream.due()
    assert window is not None
    assert (window.start, window.settled) == (0, 8)
    assert stream.due() is None
    assert stream.held == 16


@pytest.mark.parametrize("tokens", [1, 7, 23])
def test_short_utterance_is_one_window(tokens: int) -> None:
    (window,) = windows_of(PLAN, numbered(tokens), [1] * tokens)
    assert described(window) == (0, tokens, True, list(range(tokens)))


def test_empty_utterance() -> None:
    stream = StreamingDecoder(PLAN)
    stream.push(numbered(0))
    assert list(stream.finish()) == []


@given(plans, st.integers(0, 300), st.lists(st.integers(0, 40), max_size=30))
def test_arrival_changes_nothing(plan: WindowPlan, tokens: int, steps: list[int]) -> None:
    rows = numbered(tokens)
    windows = windows_of(plan, rows, steps)
    assert [described(window) for window in windows] == [
        described(window) for window in windows_of(plan, rows, [])
    ]
    settled = [window.rows[: window.settled, 0] for window in windows]
    assert np.concatenate([np.zeros(0), *settled]).tolist() == list(range(tokens))
    for window in windows[:-1]:
        assert len(window.rows) == window.settled + plan.ahead


@given(plans, st.integers(1, 300))
def test_only_what_is_needed_is_held(plan: WindowPlan, tokens: int) -> None:
    stream, rows = StreamingDecoder(plan), numbered(tokens)
    most = max(*plan.first, plan.then, 0) + plan.ahead
    for index in range(tokens):
        stream.push(rows[index : index + 1])
        stream.due()
        assert stream.held < most


def test_rows_are_copied() -> None:
    rows = numbered(10)
    stream = StreamingDecoder(PLAN)
    stream.push(rows)
    rows[:] = -1
    (window,) = stream.finish()
    assert window.rows[:, 0].tolist() == list(range(10))


def test_rows_need_two_dimensions() -> None:
    with pytest.raises(ValueError, match=r"shape \(t, n\), not \(3,\)"):
        StreamingDecoder(PLAN).push(np.zeros(3, np.float32))


@pytest.mark.parametrize("plan", [((0, 8), 8, 8), ((8,), 0, 8), ((8,), 8, 0), ((-1,), 8, 8)])
def test_plans_are_checked(plan: tuple[tuple[int, ...], int, int]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        WindowPlan(*plan)


@pytest.mark.parametrize(
    ("plan", "pace"),
    [
        (WindowPlan((), 24, 16), 1.0),
        (WindowPlan((8,), 8, 16), 1.0),
        (WindowPlan((8, 16), 16, 16), 2.0),
        (PLANS[Profile.REALTIME], 1.25),
        (PLANS[Profile.STANDARD], 1.375),
        (PLANS[Profile.HQ], 2.0),
    ],
)
def test_pace_that_playback_needs(plan: WindowPlan, pace: float) -> None:
    assert plan.pace == pytest.approx(pace)
    ends = np.cumsum([window.settled for window in windows_of(plan, numbered(2_000), [])[:-1]])
    # Token k comes at k / pace; window k's audio must be there when the one before is played.
    arrivals = (ends + plan.ahead) / plan.pace
    played = arrivals[0] + ends[:-1]
    assert (arrivals[1:] <= played + 1e-9).all()


def test_realtime_is_first() -> None:
    tokens = [PLANS[profile].first_tokens for profile in Profile]
    assert tokens == sorted(tokens)
    assert set(PLANS) == set(Profile)
