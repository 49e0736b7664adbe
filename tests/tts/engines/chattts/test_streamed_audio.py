"""Joined chunks are the whole decode, within what the context behind them leaves open."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.tts.engines.chattts.closeness import relative_error
from tests.tts.engines.chattts.vocoder_parts import Parts, streamed
from tts.engine.request import Profile
from tts.engines.chattts.random_checkpoint import RandomCheckpoint, Size
from tts.engines.chattts.windows import PLANS, WindowPlan

TOKENS = 150


@pytest.fixture(scope="module")
def parts(chattts_tiny: Path) -> Parts:
    return Parts.read(chattts_tiny)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Parts:
    """Four layers in each stack: its convolutions look 25 tokens ahead."""
    folder = tmp_path_factory.mktemp("small")
    RandomCheckpoint(Size.SMALL).write(folder)
    return Parts.read(folder)


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_streamed_is_whole(parts: Parts, plan: WindowPlan) -> None:
    vocoder, hidden = parts.vocoder(), parts.hidden(TOKENS)
    whole = vocoder.whole(hidden)
    joined = streamed(vocoder, plan, hidden, [1] * TOKENS)
    assert joined.shape == whole.shape == (512 * TOKENS - 256,)
    assert relative_error(joined, whole) < 1e-5


@pytest.mark.parametrize(("ahead", "limit"), [(8, 6e-3), (12, 1e-4), (16, 1e-5), (25, 2e-6)])
def test_error_falls_with_context(small: Parts, ahead: int, limit: float) -> None:
    vocoder, hidden = small.vocoder(), small.hidden(TOKENS)
    plan = WindowPlan((8, 16), 24, ahead)
    joined = streamed(vocoder, plan, hidden, [])
    assert relative_error(joined, vocoder.whole(hidden)) < limit


def test_codes_too(parts: Parts) -> None:
    vocoder, codes = parts.vocoder(codes=True), parts.codes(TOKENS)
    joined = streamed(vocoder, PLANS[Profile.REALTIME], codes, [3] * 40)
    assert relative_error(joined, vocoder.whole(codes)) < 1e-5


def test_joins_do_not_click(small: Parts) -> None:
    vocoder, hidden = small.vocoder(), small.hidden(TOKENS)
    plan = PLANS[Profile.REALTIME]
    error = streamed(vocoder, plan, hidden, []) - vocoder.whole(hidden)
    steps = np.abs(np.diff(error))
    ends = np.cumsum(plan.first)
    assert ends[-1] < TOKENS
    loudness = np.sqrt(np.mean(np.square(vocoder.whole(hidden))))
    for end in ends * 512:
        # 54 dB below the speech itself, which masks it.
        assert steps[end - 2 : end + 1].max() < 2e-3 * loudness


def test_too_little_context_is_heard(small: Parts) -> None:
    vocoder, hidden = small.vocoder(), small.hidden(TOKENS)
    joined = streamed(vocoder, WindowPlan((8, 16), 24, 1), hidden, [])
    assert relative_error(joined, vocoder.whole(hidden)) > 0.05


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(1, 120), st.lists(st.integers(0, 30), max_size=20))
def test_arrival_changes_no_bit(parts: Parts, tokens: int, steps: list[int]) -> None:
    vocoder, hidden = parts.vocoder(), parts.hidden(tokens, seed=tokens)
    plan = PLANS[Profile.REALTIME]
    stepped = streamed(vocoder, plan, hidden, steps)
    assert np.array_equal(stepped, streamed(vocoder, plan, hidden, []))


def test_inner_silence_is_kept(parts: Parts) -> None:
    """The original strips every sample below 1e-5; here the count is the tokens' alone."""
    vocoder, hidden = parts.vocoder(), parts.hidden(TOKENS)
    hidden[50:90] = 0
    assert len(streamed(vocoder, PLANS[Profile.STANDARD], hidden, [])) == 512 * TOKENS - 256
