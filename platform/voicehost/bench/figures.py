"""Figures of a sample: median, percentiles, and those of a Prometheus histogram."""

import math
from collections.abc import Sequence
from itertools import pairwise


def percentile(values: Sequence[float], share: float) -> float:
    """The value that `share` (0 to 1) of the sample does not exceed, by nearest rank.

    A nearest rank is a value that was measured, never one between two. NaN for
    an empty sample.
    """
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"a share is 0 to 1, not {share}")
    if not values:
        return math.nan
    rank = max(1, math.ceil(share * len(values)))
    return sorted(values)[rank - 1]


def median(values: Sequence[float]) -> float:
    """The middle of the sample, the mean of both where there are two; NaN for an empty one."""
    if not values:
        return math.nan
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def histogram_percentile(buckets: Sequence[tuple[float, float]], share: float) -> float:
    """The percentile of a histogram given as (upper bound, cumulative count), bounds ascending.

    Interpolates inside a bucket as Prometheus's `histogram_quantile` does; what
    lies in the last, unbounded bucket counts as the highest bound. NaN when it
    is empty.
    """
    total = buckets[-1][1] if buckets else 0.0
    if total <= 0:
        return math.nan
    wanted = share * total
    for (low, below), (high, upto) in pairwise([(0.0, 0.0), *buckets]):
        if upto >= wanted:
            if math.isinf(high):
                return low
            return low + (high - low) * (wanted - below) / (upto - below) if upto > below else low
    return buckets[-1][0]
