"""How a route's traffic is divided: 10,000 buckets, each owned by one version.

A caller's key is hashed into a bucket and stays there; a change of weights
changes the owner of as few buckets as can be. The owners are kept, not computed
anew: rendezvous hashing meets the weights only on average and moves too many
keys when three versions change at once, and intervals in a fixed order move the
keys of every version behind the one that changed. With owners kept, a version's
share is exact to one bucket, and the buckets that move between two splits
are exactly `sum(max(0, old - new))` over the versions, which no other way can
undercut.

Each version gives up what it gained last. So a canary that grows from 10 % to
20 % and shrinks back ends with the very keys it began with.
"""

import hashlib
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

BUCKETS = 10_000

Interval = tuple[int, int]
Owners = dict[str, tuple[Interval, ...]]
"""Version key to half-open bucket intervals, in the order in which they were gained."""


def bucket_of(salt: str, key_id: str) -> int:
    """The bucket, 0 to 9,999, of a caller's key on the route with this salt."""
    digest = hashlib.sha256(f"{salt}:{key_id}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % BUCKETS


def buckets_for(weights: Mapping[str, int]) -> dict[str, int]:
    """How many buckets each version gets; they add up to 10,000 exactly.

    Largest remainder: shares are rounded down and the buckets left over go to
    those that lost most by it, the earlier version first where they lost the
    same. Raises ValueError when no weight is above 0.
    """
    total = sum(weights.values())
    if total <= 0 or min(weights.values()) < 0:
        raise ValueError("a split needs weights of at least 0, and one above 0")
    counts = {key: weight * BUCKETS // total for key, weight in weights.items()}
    by_loss = sorted(weights, key=lambda key: -(weights[key] * BUCKETS % total))
    for key in by_loss[: BUCKETS - sum(counts.values())]:
        counts[key] += 1
    return counts


def resplit(owners: Mapping[str, Sequence[Interval]], weights: Mapping[str, int]) -> Owners:
    """New owners for `weights`, moving no bucket that need not move.

    `weights` are in order of the versions' creation, which makes the result the
    same wherever it is computed. An empty `owners` starts afresh.
    """
    wanted = buckets_for(weights)
    kept = {key: list(intervals) for key, intervals in owners.items()}
    free: list[Interval] = [] if kept else [(0, BUCKETS)]
    for key in sorted(kept, key=lambda item: (item not in wanted, item)):
        surplus = _size(kept[key]) - wanted.get(key, 0)
        free.extend(_pop(kept[key], surplus))
    free.sort()
    result: Owners = {}
    # The newest version takes first, from the end: a canary's buckets lie
    # together, and the oldest version, usually the one in service, keeps its own.
    for key in reversed(list(wanted)):
        mine = kept.get(key, [])
        gained = _pop(free, wanted[key] - _size(mine))
        result[key] = tuple(_merged([*mine, *gained]))
    return {key: result[key] for key in wanted if result[key]}


def _size(intervals: Sequence[Interval]) -> int:
    return sum(end - start for start, end in intervals)


def _pop(intervals: list[Interval], count: int) -> list[Interval]:
    """Take `count` buckets off the end of `intervals` (none when it is 0 or less)."""
    taken: list[Interval] = []
    while count > 0:
        start, end = intervals.pop()
        split = max(start, end - count)
        if split > start:
            intervals.append((start, split))
        taken.append((split, end))
        count -= end - split
    return taken


def _merged(intervals: Sequence[Interval]) -> list[Interval]:
    """Join an interval with the next in the list that continues it, to keep the list short.

    Only upwards: giving up from the end then still gives up what was gained last.
    """
    result: list[Interval] = []
    for start, end in intervals:
        if result and result[-1][1] == start:
            result[-1] = (result[-1][0], end)
        else:
            result.append((start, end))
    return result


@dataclass(frozen=True, slots=True)
class SplitTable:
    """The owners of all buckets, for look-ups."""

    starts: tuple[int, ...]
    keys: tuple[str, ...]

    @classmethod
    def of(cls, owners: Mapping[str, Sequence[Interval]]) -> "SplitTable":
        """Order the intervals; raises ValueError unless they cover every bucket once."""
        rows = sorted(
            (start, end, key) for key, intervals in owners.items() for start, end in intervals
        )
        edges = [(0, 0, ""), *rows, (BUCKETS, BUCKETS, "")]
        if any(left[1] != right[0] for left, right in pairwise(edges)):
            raise ValueError("the owners do not cover every bucket exactly once")
        return cls(tuple(row[0] for row in rows), tuple(row[2] for row in rows))

    def owner(self, bucket: int) -> str:
        """The version that owns `bucket`."""
        return self.keys[bisect_right(self.starts, bucket) - 1]
