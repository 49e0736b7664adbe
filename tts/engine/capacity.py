"""How many listeners the machine carries in real time.

Two rules, both with a safety factor s (1.05: five percent faster than real time):

- *Rows.* One turn steps every STEP engine once. A stream gains `step_seconds /
  speed` of audio by it, so the turn may take at most that over s for every
  stream whose buffer is not full.
- *Load.* A listener needs one second of audio a second; one with lead L whose
  remaining audio R is known needs only R / (R + L) of that. Times the computing
  cost of a second of audio, the sum over all listeners stays within the lanes
  (UTTERANCE) or the one step loop (STEP). A new listener beyond it is served
  only with what would otherwise idle.
"""

from collections import Counter
from collections.abc import Iterable
from math import inf

from tts.engine.job import EngineState, Job


def cost_of_audio(job: Job, safety: float) -> float:
    """Computing seconds for one second of audio before speed, in the best batch; 0.0: unknown."""
    engine = job.engine
    if not engine.steps:
        return engine.rtf.of(job.cost_kind)
    rows = _rows_carried(engine, safety)
    return engine.cost.predict(rows) / (rows * engine.traits.step_seconds)


def _rows_carried(engine: EngineState, safety: float) -> int:
    """The largest batch whose step is fast enough for all its rows, at least 1."""
    rows = engine.cost.rows_within(engine.traits.step_seconds / safety)
    return int(min(rows, engine.batching.max_batch))


class Load:
    """The share of the machine that listeners need, added up one by one."""

    def __init__(self, capacity: float, safety: float, enough: float, now: float) -> None:
        self._capacity = capacity
        self._safety = safety
        self._enough = enough
        self._now = now
        self._costs: dict[tuple[EngineState, str | None], float] = {}
        self.total = 0.0

    def add(self, jobs: Iterable[Job]) -> None:
        """Count listeners that are being served."""
        self.total += sum(self._need(job) for job in jobs)

    def carries(self, job: Job) -> bool:
        """Whether there is room for one more listener (always for the first); counts it if so."""
        need = self._need(job)
        if self.total > 0.0 and self.total + need > self._capacity:
            return False
        self.total += need
        return True

    def _need(self, job: Job) -> float:
        known_by = job.engine, job.cost_kind
        cost = self._costs.get(known_by)
        if cost is None:
            cost = self._costs[known_by] = cost_of_audio(job, self._safety)
        full = cost * job.speed * self._safety
        lead = job.lead(self._now)
        if lead < self._enough:
            return full
        remaining = job.remaining / job.speed
        return full * remaining / (remaining + lead)


class RowBudget:
    """What one turn over all STEP engines may hold; rows are added in order of their claim."""

    def __init__(self, safety: float) -> None:
        self._safety = safety
        self._rows: Counter[EngineState] = Counter()
        self._costs: dict[EngineState, float] = {}
        self._limit = inf

    def admits(self, job: Job, *, needs_real_time: bool) -> bool:
        """Whether one row of `job` fits: its batch has room and the turn stays fast enough.

        The first row always fits.
        """
        engine = job.engine
        rows = self._rows[engine]
        if rows >= engine.batching.max_batch:
            return False
        if not self._costs:
            return True
        limit = min(self._limit, _gain(job)) if needs_real_time else self._limit
        if limit == inf:
            return True
        others = sum(cost for other, cost in self._costs.items() if other is not engine)
        return (others + engine.cost.predict(rows + 1)) * self._safety <= limit

    def add(self, job: Job, *, needs_real_time: bool) -> None:
        """Take the row in; one that needs real time binds all that come after it."""
        engine = job.engine
        self._rows[engine] += 1
        self._costs[engine] = engine.cost.predict(self._rows[engine])
        if needs_real_time:
            self._limit = min(self._limit, _gain(job))


def _gain(job: Job) -> float:
    """Seconds of audio (after speed) that a row of `job` gains by one step."""
    return job.engine.traits.step_seconds / job.speed
