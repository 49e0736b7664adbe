"""Medians and percentiles are right, of samples and of histograms."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voicehost.bench.figures import histogram_percentile, median, percentile

samples = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=200)


@pytest.mark.parametrize(
    ("values", "middle"), [([3.0], 3.0), ([9.0, 1.0, 5.0], 5.0), ([4.0, 1.0, 2.0, 9.0], 3.0)]
)
def test_median(values: list[float], middle: float) -> None:
    assert median(values) == middle


def test_percentile_of_a_hundred() -> None:
    values = [float(value) for value in range(100, 0, -1)]
    assert percentile(values, 0.5) == 50
    assert percentile(values, 0.99) == 99
    assert percentile(values, 1.0) == 100
    assert percentile(values, 0.0) == 1


@given(samples, st.floats(0, 1))
def test_percentile_covers_its_share_and_no_smaller_value_does(
    values: list[float], share: float
) -> None:
    found = percentile(values, share)
    assert found in values
    wanted = share * len(values)
    # A share like 0.07 times 100 is a hair more than 7 in binary.
    assert sum(value <= found for value in values) >= wanted - 1e-9
    smaller = [value for value in values if value < found]
    assert len(smaller) <= wanted


def test_empty_samples_have_no_figures() -> None:
    assert math.isnan(median([]))
    assert math.isnan(percentile([], 0.5))
    assert math.isnan(histogram_percentile([], 0.5))
    assert math.isnan(histogram_percentile([(1.0, 0.0), (math.inf, 0.0)], 0.5))


def test_share_is_checked() -> None:
    with pytest.raises(ValueError, match="0 to 1"):
        percentile([1.0], 99)


@pytest.mark.parametrize(
    ("share", "value"),
    [(0.25, 0.5), (0.5, 1.0), (0.75, 1.5), (1.0, 2.0)],
)
def test_histogram_is_interpolated(share: float, value: float) -> None:
    assert histogram_percentile([(1.0, 50), (2.0, 100), (math.inf, 100)], share) == value


def test_beyond_the_last_bound_is_the_last_bound() -> None:
    assert histogram_percentile([(1.0, 50), (2.0, 90), (math.inf, 100)], 0.99) == 2.0
