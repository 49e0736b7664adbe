"""What computing costs, learned from what it did cost: pure arithmetic, no clock."""

from collections import deque
from collections.abc import Iterable
from math import inf
from statistics import fmean, median

PER_SIZE = 64
"""Times kept of each size: more than a step engine's period, which makes its audio in windows."""
PAUSE = 8.0
"""Times the median from which on a time is a pause of the machine, not a cost."""
HALF_LIFE = 512
FORGET = 4096


class LinearCost:
    """Seconds of one computation over `n` rows: T(n) = a + b·n.

    A weighted least-squares line through the mean of the last 64 times of each
    size. It is the mean, since a step that also decodes a window of audio costs
    several times one that does not; what is above 8 times the median is left
    out, so that one pause bends nothing. A size weighs half for every 512
    observations since it was last seen.

    A single size n tells nothing about a and b. Then one row more is taken to
    cost the same, so that it is tried and measured, and what lies beyond as
    proportional to that: T(m) = T(n) · max(1, m / (n + 1)). Taking all of it as
    proportional would refuse the second row of an engine with a high fixed cost
    for ever, since size 2 would never be measured.
    """

    def __init__(self, *, least_observations: int = 8) -> None:
        self._least = least_observations
        self._times: dict[int, deque[float]] = {}
        self._usual: dict[int, float] = {}
        self._seen: dict[int, int] = {}
        self._count = 0
        self._line: tuple[float, float] | None = None
        self._single: tuple[int, float] | None = None

    @property
    def known(self) -> bool:
        """Whether enough was measured to predict anything."""
        return self._count >= self._least

    @property
    def only_size(self) -> int | None:
        """The size that was measured, where it is the only one: larger ones are a guess."""
        self._fit()
        return None if self._single is None else self._single[0]

    @property
    def fixed(self) -> float:
        """a: seconds a computation costs whatever its size; 0.0 until two sizes are known."""
        return self._fit()[0]

    @property
    def per_row(self) -> float:
        """b: seconds each row adds; 0.0 until two sizes are known."""
        return self._fit()[1]

    def observe(self, rows: int, seconds: float) -> None:
        """Learn that a computation over `rows` rows took `seconds`."""
        self._count += 1
        times = self._times.setdefault(rows, deque(maxlen=PER_SIZE))
        times.append(seconds)
        self._usual[rows] = _usual(times)
        self._seen[rows] = self._count
        for size in [s for s, at in self._seen.items() if self._count - at > FORGET]:
            del self._times[size], self._usual[size], self._seen[size]
        self._line = None

    def predict(self, rows: int) -> float:
        """Seconds for `rows` rows; 0.0 for none, and while nothing is known."""
        if not rows:
            return 0.0
        fixed, per_row = self._fit()
        if self._single is not None:
            size, seconds = self._single
            return seconds * max(1.0, rows / (size + 1))
        return fixed + per_row * rows

    def rows_within(self, seconds: float) -> float:
        """How many rows `predict` allows in `seconds`: at least 1.0, and infinite where unknown."""
        fixed, per_row = self._fit()
        if self._single is not None:
            size, usual = self._single
            return (size + 1) * seconds / usual if 0.0 < usual <= seconds else 1.0
        if per_row <= 0.0:
            return inf if fixed <= seconds else 1.0
        return max(1.0, (seconds - fixed) / per_row)

    def _fit(self) -> tuple[float, float]:
        if not self.known:
            return 0.0, 0.0
        if self._line is None:
            self._line = self._least_squares()
        return self._line

    def _least_squares(self) -> tuple[float, float]:
        points = [
            (n, self._usual[n], len(times) * 0.5 ** ((self._count - self._seen[n]) / HALF_LIFE))
            for n, times in self._times.items()
        ]
        weight = sum(w for _, _, w in points)
        mean_n = sum(n * w for n, _, w in points) / weight
        mean_t = sum(t * w for _, t, w in points) / weight
        self._single = (points[0][0], mean_t) if len(points) == 1 else None
        if self._single is not None:
            return 0.0, 0.0
        spread = sum(w * (n - mean_n) ** 2 for n, _, w in points)
        slope = sum(w * (n - mean_n) * (t - mean_t) for n, t, w in points) / spread
        slope = min(max(0.0, slope), mean_t / mean_n)
        return mean_t - slope * mean_n, slope


def _usual(times: Iterable[float]) -> float:
    kept = list(times)
    limit = PAUSE * median(kept)
    return fmean(seconds for seconds in kept if seconds <= limit)


class RealTimeFactor:
    """Lane seconds per second of audio: the ratio of sums over the last calls of each kind.

    An engine's `cost_kind` says which utterances cost about the same: one that
    speaks with a fast model and a slow one has no factor in between. Calls whose
    own ratio is above three times the median of their kind (a cold cache, a
    machine that paused) are left out.
    """

    def __init__(self, *, least_observations: int = 3, memory: int = 32) -> None:
        self._least = least_observations
        self._memory = memory
        self._calls: dict[str, deque[tuple[float, float]]] = {}
        self._sums: dict[str, tuple[float, float]] = {}

    def of(self, kind: str | None) -> float:
        """The factor of a kind; of all kinds together for None or one that is not known yet.

        0.0 while too little was measured.
        """
        if kind in self._calls and len(self._calls[kind]) >= self._least:
            seconds, audio = self._sum(kind)
            return seconds / audio
        if sum(map(len, self._calls.values())) < self._least:
            return 0.0
        sums = [self._sum(known) for known in self._calls]
        return sum(seconds for seconds, _ in sums) / sum(audio for _, audio in sums)

    def observe(self, kind: str, seconds: float, audio_seconds: float) -> None:
        """Learn that `audio_seconds` of audio of this kind held a lane for `seconds`."""
        if audio_seconds > 0.0:
            calls = self._calls.setdefault(kind, deque(maxlen=self._memory))
            calls.append((seconds, audio_seconds))
            self._sums.pop(kind, None)

    def _sum(self, kind: str) -> tuple[float, float]:
        if kind not in self._sums:
            calls = self._calls[kind]
            most = 3 * median(seconds / audio for seconds, audio in calls)
            kept = [(seconds, audio) for seconds, audio in calls if seconds / audio <= most]
            self._sums[kind] = (sum(s for s, _ in kept), sum(audio for _, audio in kept))
        return self._sums[kind]


class ArrivalGap:
    """The usual seconds between arrivals: the median of the last nine.

    So the pause before a burst does not hide the burst.
    """

    def __init__(self) -> None:
        self.last: float | None = None
        self._gaps: deque[float] = deque(maxlen=9)

    @property
    def seconds(self) -> float | None:
        """The usual gap; None before the second arrival."""
        return median(self._gaps) if self._gaps else None

    def observe(self, now: float) -> None:
        """Learn that something arrived at `now`."""
        if self.last is not None:
            self._gaps.append(now - self.last)
        self.last = now
