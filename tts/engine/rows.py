"""Rows of STEP engines: who computes in this turn, who gets a slot, who gives one up."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from tts.engine.capacity import RowBudget
from tts.engine.config import CoreConfig
from tts.engine.job import EngineState, Job, Run
from tts.engine.standings import Standings


@dataclass(slots=True)
class Placement:
    """What one pool does now: runs that go on, jobs whose next segment starts, runs to give up.

    Jobs in one `calls` group compute in one call (a group of one, mostly).
    """

    going: list[Run] = field(default_factory=list)
    calls: list[list[Job]] = field(default_factory=list)
    released: list[Run] = field(default_factory=list)
    look_again: float = float("inf")


class Slots:
    """Free slots of the engines, as they are handed out within one turn."""

    def __init__(self, config: CoreConfig) -> None:
        self._share = config.offline_slots_share
        self._most = config.max_preemptions
        self._taken: dict[EngineState, int] = {}
        self._offline: dict[EngineState, int] = {}

    def take(self, job: Job, *, rows: int = 1) -> bool:
        """Take a slot for `job` if its engine has one that it may hold."""
        engine = job.engine
        self._count(engine)
        slots = engine.batching.max_slots
        if self._taken[engine] + rows > slots:
            return False
        if job.offline:
            if self._offline[engine] + rows > max(1, int(slots * self._share)):
                return False
            self._offline[engine] += rows
        self._taken[engine] += rows
        return True

    def give_back(self, run: Run) -> None:
        """Count the slot of a run that was released in this turn as free."""
        self._count(run.job.engine)
        self._taken[run.job.engine] -= 1
        self._offline[run.job.engine] -= run.job.offline

    def victim(self, job: Job, spared: Iterable[Run]) -> Run | None:
        """The run that gives its slot up for `job`, if any.

        That is one whose listener takes nothing now or, for a listener, the
        offline run that has the least to lose. What was computed is computed
        again later, so this is bounded per segment.
        """
        kept = set(spared)
        runs = [
            run
            for run in job.engine.runs.values()
            if run not in kept and run.segment.preemptions < self._most
        ]
        stalled = [run for run in runs if run.job.headroom <= 0.0]
        offline = [run for run in runs if run.job.offline and not job.offline]
        if stalled:
            return min(stalled, key=lambda run: run.produced)
        return min(offline, key=lambda run: (run.produced, -run.call.started), default=None)

    def _count(self, engine: EngineState) -> None:
        if engine not in self._taken:
            self._taken[engine] = len(engine.runs)
            self._offline[engine] = sum(run.job.offline for run in engine.runs.values())


def row_runnable(job: Job) -> bool:
    """Whether a STEP job can compute: it has something to, and its listener takes it."""
    return job.headroom > 0.0


def place_rows(standings: Standings, config: CoreConfig) -> Placement:
    """Fill the turn in order of claim; idle capacity is always used.

    Rows of listeners with enough ahead, and offline rows, take only what the
    rows before them leave: they pause when one of those would fall behind.
    """
    budget, slots, placement = RowBudget(config.safety_factor), Slots(config), Placement()
    ahead = set(standings.ahead)
    for job in standings.listeners + standings.offline:
        real_time = not job.offline and job not in ahead
        run = next(iter(job.runs.values()), None)
        if run in placement.released or not budget.admits(job, needs_real_time=real_time):
            continue
        if run is not None:
            placement.going.append(run)
        elif _slot_for(job, slots, placement):
            placement.calls.append([job])
        else:
            continue
        budget.add(job, needs_real_time=real_time)
    return placement


def _slot_for(job: Job, slots: Slots, placement: Placement) -> bool:
    if slots.take(job):
        return True
    victim = slots.victim(job, placement.going + placement.released)
    if victim is None:
        return False
    slots.give_back(victim)
    if not slots.take(job):
        return False
    placement.released.append(victim)
    return True
