"""Lanes of UTTERANCE engines: which segments are computed next, shared by all engines of a worker.

A call holds a lane until its last utterance is done; it cannot be paused. An
engine that batches computes several utterances in one call, every other one.
"""

from collections.abc import Iterable, Sequence

from tts.engine.config import CoreConfig
from tts.engine.job import Call, EngineState, Job, Run
from tts.engine.request import Priority
from tts.engine.rows import Placement, Slots
from tts.engine.standings import Standings

NEARLY_DONE = 0.75


def lane_runnable(job: Job) -> bool:
    """Whether a segment of an UTTERANCE job can start: there is one, and room to hear it."""
    return bool(job.pending) and job.room > 0.0


def place_lanes(
    standings: Standings, engines: Iterable[EngineState], config: CoreConfig, now: float
) -> Placement:
    """Hand the free lanes out: a first segment for everyone before a second for anyone.

    A listener that would fall behind may compute two segments at once before
    offline work gets a lane, everyone else only with what is left.
    """
    engines = tuple(engines)
    placement = Placement(going=[run for engine in engines for run in engine.runs.values()])
    lanes = _Lanes(placement, config, now)
    listeners, offline = standings.listeners, standings.offline
    lanes.hold(engines, listeners + offline)
    urgent = standings.playing + standings.fresh
    lanes.offer([job for job in urgent if not job.runs], may_preempt=True)
    lanes.offer([job for job in standings.ahead + standings.beyond if not job.runs])
    lanes.offer([job for job in urgent if job.runs])
    lanes.offer([job for job in offline if not job.runs])
    # Going round again gives idle lanes to the next segments of those just served.
    for _ in range(config.lanes):
        lanes.offer(listeners + offline)
    return placement


class _Lanes:
    """The lanes of one turn as they are handed out."""

    def __init__(self, placement: Placement, config: CoreConfig, now: float) -> None:
        self._placement = placement
        self._config = config
        self._now = now
        self._slots = Slots(config)
        self._free = config.lanes - len({run.call for run in placement.going})
        self._held: set[EngineState] = set()
        self._granted: dict[Job, int] = {}

    def hold(self, engines: Sequence[EngineState], jobs: Sequence[Job]) -> None:
        """Keep engines back whose batch is worth waiting for."""
        for engine in engines:
            if engine.traits.batches and self._free > 0:
                until = hold_until(engine, [job for job in jobs if job.engine is engine], self._now)
                if until is not None:
                    self._held.add(engine)
                    self._placement.look_again = min(self._placement.look_again, until)

    def offer(self, jobs: Iterable[Job], *, may_preempt: bool = False) -> None:
        """Give each of `jobs`, in order, one lane (or a place in a call) if there is one."""
        for job in jobs:
            if job.engine in self._held or not self._wants_more(job):
                continue
            call = self._open_call(job)
            if call is None and self._free < 1 and may_preempt:
                self._preempt_for(job)
            if (call is None and self._free < 1) or not self._slots.take(job):
                continue
            if call is None:
                self._free -= 1
                self._placement.calls.append([job])
            else:
                call.append(job)
            self._granted[job] = self._granted.get(job, 0) + 1

    def _wants_more(self, job: Job) -> bool:
        granted = self._granted.get(job, 0)
        if granted >= len(job.pending) or len(job.runs) + granted >= self._config.lanes:
            return False
        ahead = sum(job.pending[i].seconds for i in range(granted)) / job.speed
        return job.room - ahead > 0.0

    def _open_call(self, job: Job) -> list[Job] | None:
        """A call of this turn that `job` can join; listeners are not slowed by offline rows."""
        if not job.engine.traits.batches:
            return None
        for call in self._placement.calls:
            first = call[0]
            if (
                first.engine is job.engine
                and first.offline == job.offline
                and len(call) < job.engine.batching.max_batch
            ):
                return call
        return None

    def _preempt_for(self, job: Job) -> None:
        """Free the lane of the offline call that started last, if that costs little.

        Only for a real-time listener; only calls that made no audio yet, are not
        nearly done by what such a call usually takes, and were not preempted too
        often already.
        """
        if job.priority is not Priority.REALTIME:
            return
        calls: dict[Call, list[Run]] = {}
        for run in self._placement.going:
            calls.setdefault(run.call, []).append(run)
        victims = [runs for runs in calls.values() if all(map(self._preemptible, runs))]
        if not victims:
            return
        victim = max(victims, key=lambda runs: (runs[0].call.started, runs[0].run_id))
        for run in victim:
            self._placement.going.remove(run)
            self._placement.released.append(run)
            self._slots.give_back(run)
        self._free += 1

    def _preemptible(self, run: Run) -> bool:
        usual = run.job.engine.rtf.of(run.job.cost_kind) * run.seconds
        nearly_done = usual > 0.0 and self._now - run.call.started >= NEARLY_DONE * usual
        return (
            run.job.offline
            and not run.produced
            and not nearly_done
            and run.segment.preemptions < self._config.max_preemptions
        )


def hold_until(engine: EngineState, jobs: Sequence[Job], now: float) -> float | None:
    """Until when a batch is worth holding open for one more utterance; None: start it now.

    A call over n utterances takes a·n + b. Holding n of them for the usual gap g
    between arrivals costs them n·(g + a) in all; an utterance that just misses
    the call waits for all of it, a·n + b. So holding pays while n·g < b (the
    idea is BentoML's, `marshal/dispatcher.py`). It ends when the next one is
    overdue (two gaps), or the oldest has waited `max_wait_seconds`.
    """
    gap, last, n = engine.gap.seconds, engine.gap.last, len(jobs)
    if not n or n >= engine.batching.max_batch or gap is None or last is None:
        return None
    if n * gap >= engine.cost.fixed:
        return None
    oldest = min(job.pending[0].ready for job in jobs)
    until = min(oldest + engine.batching.max_wait_seconds, last + 2 * gap)
    return until if until > now else None
