"""How a route's traffic is divided: 10,000 buckets, each owned by one version.

A caller's key is hashed into a bucket and stays there; a change of weights
changes the owner of as few buckets as can be. The owners are kept, not computed
anew: rendezvous hashing meets the weights only on average and moves too many
keys when three versions change at once, and intervals in a fixed order move the
keys of every version behind the one that changed. With owners kept, a version's
share is exact to one bucket, and the buckets that move between two splits
are exactly `sum(max(0, old - new))` over the versions, which no other way can
undercut.

Each version gives up what it gained last, last bucket first. So a canary that
grows from 10 % to 20 % and shrinks back ends with the very keys it began with.
"""

import hashlib
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

BUCKETS = 10_000

Run = Sequence[int]
"""Two numbers, the first and the last bucket of a run, counting up or down."""
Owners = dict[str, list[Run]]
"""Version key to its buckets, in the order in which they were gained."""


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


def buckets_owned(runs: Sequence[Run]) -> int:
    """How many buckets the runs hold."""
    return sum(abs(last - first) + 1 for first, last in runs)


def resplit(owners: Mapping[str, Sequence[Run]], weights: Mapping[str, int]) -> Owners:
    """New owners for `weights`, moving no bucket that need not move.

    `weights` are in order of the versions' creation, which makes the result the
    same wherever it is computed. An empty `owners` starts afresh.
    """
    wanted = buckets_for(weights)
    kept = {key: list(runs) for key, runs in owners.items()}
    free: list[Run] = [] if kept else [(0, BUCKETS - 1)]
    for key in sorted(kept):
        surplus = buckets_owned(kept[key]) - wanted.get(key, 0)
        free.extend(_pop(kept[key], surplus))
    free = _reversed(free)  # taken off its end below: in the order in which it was given up
    result: Owners = {}
    for key, count in wanted.items():
        mine = kept.get(key, [])
        gained = _pop(free, count - buckets_owned(mine))
        result[key] = _joined([*mine, *gained])
    return {key: runs for key, runs in result.items() if runs}


def _pop(runs: list[Run], count: int) -> list[Run]:
    """Take `count` buckets off the end, the last one first (none when it is 0 or less)."""
    taken: list[Run] = []
    while count > 0:
        first, last = runs.pop()
        step = 1 if last >= first else -1
        size = min(count, abs(last - first) + 1)
        cut = last - step * (size - 1)
        if cut != first:
            runs.append((first, cut - step))
        taken.append((last, cut))
        count -= size
    return taken


def _reversed(runs: Sequence[Run]) -> list[Run]:
    """The same buckets in the opposite order."""
    return [(last, first) for first, last in reversed(runs)]


def _joined(runs: Sequence[Run]) -> list[Run]:
    """The same buckets in the same order, with runs that continue each other made one."""
    result: list[Run] = []
    for first, last in runs:
        if result:
            start, end = result[-1]
            step = first - end
            # Both runs must count the same way; a run of one bucket counts either.
            if abs(step) == 1 and (end - start) * step >= 0 and (last - first) * step >= 0:
                result[-1] = (start, last)
                continue
        result.append((first, last))
    return result


@dataclass(frozen=True, slots=True)
class SplitTable:
    """The owners of all buckets, for look-ups."""

    starts: tuple[int, ...]
    keys: tuple[str, ...]

    @classmethod
    def of(cls, owners: Mapping[str, Sequence[Run]]) -> "SplitTable":
        """Order the runs; raises ValueError unless they cover every bucket once."""
        rows = sorted((min(run), max(run) + 1, key) for key, runs in owners.items() for run in runs)
        edges = [(0, 0, ""), *rows, (BUCKETS, BUCKETS, "")]
        if any(left[1] != right[0] for left, right in pairwise(edges)):
            raise ValueError("the owners do not cover every bucket exactly once")
        return cls(tuple(row[0] for row in rows), tuple(row[2] for row in rows))

    def owner(self, bucket: int) -> str:
        """The version that owns `bucket`."""
        return self.keys[bisect_right(self.starts, bucket) - 1]
