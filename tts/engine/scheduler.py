"""Who computes now: pure, the clock is passed in, no I/O, no threads.

The core tells it what happened (submitted, appended, produced, sent, granted)
and asks `schedule(now)` what to do. The rules live beside it: `standings` (whose
claim comes first), `fairness` (between tenants), `capacity` (what the machine
carries in real time), `rows` and `lanes` (the two kinds of engines), `forecast`
(how long a new request would wait).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import count
from math import inf

from tts.engine.capacity import Load
from tts.engine.config import BatchingConfig, CoreConfig
from tts.engine.fairness import TenantShares
from tts.engine.forecast import admit, predicted_wait, retry_seconds
from tts.engine.job import Call, EngineKey, EngineState, Job, PendingSegment, Run
from tts.engine.lanes import lane_runnable, place_lanes
from tts.engine.request import Priority, SpeechRequest
from tts.engine.rows import Placement, place_rows, row_runnable
from tts.engine.standings import Standings, fair_order, rank
from tts.engines.base import EngineTraits

MIXED_KINDS = "mixed"


@dataclass(frozen=True, slots=True)
class Start:
    """Begin to compute a segment: `run_id` names this computation from now on."""

    run_id: int
    request_id: str
    segment_index: int
    queue_seconds: float


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do now.

    `released`: runs to forget; their segments will be started again.
    `starts`: runs to begin. `active`: all runs to compute, by engine, the new
    ones among them. `expired`: requests that waited too long (still known;
    `finish` them). `wake_at`: when to ask again if nothing happens until then.
    """

    released: tuple[int, ...]
    starts: tuple[Start, ...]
    active: Mapping[EngineKey, tuple[int, ...]]
    expired: tuple[str, ...]
    wake_at: float


class Scheduler:
    """All requests of one worker, over all its engines."""

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        self._engines: dict[EngineKey, EngineState] = {}
        self._jobs: dict[str, Job] = {}
        self._runs: dict[int, Run] = {}
        self._shares = {priority: TenantShares() for priority in Priority}
        self._sequence = count()
        self._run_ids = count()

    def engine_add(self, key: EngineKey, traits: EngineTraits, batching: BatchingConfig) -> None:
        """Know an engine; `key` must be new."""
        if key in self._engines:
            raise ValueError(f"engine {key} is already there")
        self._engines[key] = EngineState(key, traits, batching)

    def engine_remove(self, key: EngineKey) -> None:
        """Forget an engine that no request uses any more."""
        if any(job.engine.key == key for job in self._jobs.values()):
            raise ValueError(f"engine {key} is in use")
        del self._engines[key]

    def batching_set(self, key: EngineKey, batching: BatchingConfig) -> None:
        """Change an engine's settings; what runs goes on."""
        self._engines[key].configure(batching)

    def submit(self, request: SpeechRequest, now: float) -> None:
        """Take a request in; raises QueueFull, DeadlineUnattainable.

        The request's engine must be known, its id must be new.
        """
        engine = self._engines[request.version, request.profile]
        job = Job(
            request.request_id,
            request.tenant_id,
            request.priority,
            engine,
            now,
            next(self._sequence),
            request.max_queue_seconds,
            request.speed,
        )
        admit(job, self._pool(engine.steps), self._jobs.values(), self._shares, self._config, now)
        self._jobs[job.request_id] = job
        self._shares[job.priority].join(job.tenant)

    def append(self, request_id: str, index: int, seconds: float, now: float) -> None:
        """One more segment of about `seconds` of audio (before speed) is there to compute."""
        job = self._jobs[request_id]
        if not job.has_work and not job.lead(now):
            job.playing = False
        job.pending.append(PendingSegment(index, seconds, now))
        job.engine.gap.observe(now)

    def headroom_set(self, request_id: str, seconds: float) -> None:
        """The listener takes so many more seconds of audio."""
        self._jobs[request_id].headroom = seconds

    def sent(self, request_id: str, seconds: float, now: float) -> None:
        """So many seconds of audio (after speed) have left for the listener."""
        job = self._jobs[request_id]
        job.dry_at = max(job.dry_at, now) + seconds
        job.playing = True

    def prepared(self, run_id: int, expected_seconds: float, cost_kind: str) -> None:
        """The engine's own guess of a started run's audio replaces the first one."""
        run = self._runs[run_id]
        run.job.cost_kind = cost_kind
        run.call.kinds.add(cost_kind)
        self._charge(run.job, expected_seconds - run.seconds)
        run.seconds = expected_seconds

    def produced(self, run_id: int, seconds: float) -> None:
        """The run made so many more seconds of audio, before speed."""
        self._runs[run_id].produced += seconds

    def run_finished(self, run_id: int, now: float) -> None:
        """The run made all its audio."""
        run = self._runs[run_id]
        self._charge(run.job, run.produced - run.seconds)
        run.call.audio += run.produced
        self._drop(run)
        call, engine = run.call, run.job.engine
        if not engine.steps and not call.live and call.whole:
            # Calls of one kind are known by it; what others cost is no kind's.
            kind = next(iter(call.kinds)) if len(call.kinds) == 1 else MIXED_KINDS
            engine.rtf.observe(kind, now - call.started, call.audio)
            engine.cost.observe(call.rows, now - call.started)

    def run_deferred(self, run_id: int) -> None:
        """The run could not be started in this turn; its segment goes back, first in line."""
        self._requeue(self._runs[run_id])

    def measured(self, key: EngineKey, rows: int, seconds: float) -> None:
        """A step of a STEP engine, with all that came with it, took `seconds` for `rows` rows."""
        engine = self._engines.get(key)
        if engine is not None:
            engine.cost.observe(rows, seconds)

    def retry_after(self, request_id: str, now: float) -> float:
        """Seconds after which a request that gets no turn had better come again."""
        job = self._jobs[request_id]
        others = [other for other in self._jobs.values() if other is not job]
        pool = self._pool(job.engine.steps)
        return retry_seconds(predicted_wait(job, pool, others, self._shares, self._config, now))

    def finish(self, request_id: str) -> tuple[int, ...]:
        """Forget a request, whatever its state; returns the runs that its engine must release."""
        job = self._jobs.pop(request_id)
        runs = tuple(job.runs.values())
        for run in runs:
            self._charge(job, run.produced - run.seconds)
            run.call.whole = False
            self._drop(run)
        self._shares[job.priority].leave(job.tenant)
        return tuple(run.run_id for run in runs)

    def schedule(self, now: float) -> Plan:
        """Decide this turn. Everything in the plan is taken as done: runs exist from here on."""
        waiting = [job for job in self._jobs.values() if job.waits]
        expired = {job.request_id for job in waiting if now >= job.deadline}
        rows = place_rows(self._standings(True, expired, now), self._config)
        lanes = self._place_lanes(expired, now)
        released = rows.released + lanes.released
        for run in released:
            run.segment.preemptions += 1
            self._requeue(run)
        starts = [
            start for placement in (rows, lanes) for start in self._begin_calls(placement, now)
        ]
        active: dict[EngineKey, list[int]] = {}
        begun = [self._runs[start.run_id] for start in starts]
        for run in rows.going + lanes.going + begun:
            active.setdefault(run.job.engine.key, []).append(run.run_id)
        deadlines = (job.deadline for job in waiting if job.waits and job.request_id not in expired)
        return Plan(
            tuple(run.run_id for run in released),
            tuple(starts),
            {key: tuple(run_ids) for key, run_ids in active.items()},
            tuple(expired),
            min(lanes.look_again, min(deadlines, default=inf)),
        )

    def positions(self) -> list[str]:
        """The ids of requests that wait for their first turn, in the order they would get it."""
        return [
            job.request_id
            for job in fair_order((j for j in self._jobs.values() if not j.started), self._shares)
        ]

    def depth(self) -> dict[Priority, int]:
        """How many requests wait for their first turn, by priority."""
        depth = dict.fromkeys(Priority, 0)
        for job in self._jobs.values():
            depth[job.priority] += not job.started
        return depth

    def slots(self, key: EngineKey) -> int:
        """The slots an engine has now."""
        return self._engines[key].batching.max_slots

    def free(self) -> int:
        """Places where one more request could compute at once: slots and lanes."""
        slots = sum(
            max(0, engine.batching.max_slots - len(engine.runs)) for engine in self._pool(True)
        )
        utterance = self._pool(False)
        busy = {run.call for engine in utterance for run in engine.runs.values()}
        return slots + (max(0, self._config.lanes - len(busy)) if utterance else 0)

    def is_empty(self) -> bool:
        """Whether nothing of any request is left."""
        shares = sum(len(shares) for shares in self._shares.values())
        resident = sum(len(engine.runs) for engine in self._engines.values())
        return not (self._jobs or self._runs or shares or resident)

    def _pool(self, steps: bool) -> list[EngineState]:
        return [engine for engine in self._engines.values() if engine.steps is steps]

    def _standings(self, steps: bool, expired: Iterable[str], now: float) -> Standings:
        config = self._config
        capacity = 1.0 if steps else float(config.lanes)
        enough = config.enough_buffer_seconds
        jobs = [
            job
            for job in self._jobs.values()
            if job.engine.steps is steps and job.request_id not in expired
        ]
        load = Load(capacity, config.safety_factor, enough, now)
        return rank(jobs, row_runnable if steps else lane_runnable, self._shares, load, enough, now)

    def _place_lanes(self, expired: Iterable[str], now: float) -> Placement:
        engines = self._pool(False)
        going = [run for engine in engines for run in engine.runs.values()]
        full = len({run.call for run in going}) >= self._config.lanes
        if full and not any(run.job.offline for run in going):
            return Placement(going=going)  # nothing can start, nobody gives way
        return place_lanes(self._standings(False, expired, now), engines, self._config, now)

    def _begin_calls(self, placement: Placement, now: float) -> Iterable[Start]:
        for jobs in placement.calls:
            call = Call(now, rows=len(jobs), live=len(jobs))
            for job in jobs:
                yield self._begin(job, call, now)

    def _begin(self, job: Job, call: Call, now: float) -> Start:
        segment = job.pending.popleft()
        run = Run(next(self._run_ids), job, segment, call, segment.seconds)
        self._runs[run.run_id] = job.runs[run.run_id] = job.engine.runs[run.run_id] = run
        self._charge(job, run.seconds)
        job.started = True
        return Start(run.run_id, job.request_id, segment.index, now - job.arrival)

    def _requeue(self, run: Run) -> None:
        self._charge(run.job, -run.seconds)
        run.call.whole = False
        self._drop(run)
        # Several runs of a job may come back, in any order: keep its segments in theirs.
        pending = [*run.job.pending, run.segment]
        run.job.pending.clear()
        run.job.pending.extend(sorted(pending, key=lambda segment: segment.index))

    def _drop(self, run: Run) -> None:
        run.call.live -= 1
        del self._runs[run.run_id], run.job.runs[run.run_id], run.job.engine.runs[run.run_id]

    def _charge(self, job: Job, seconds: float) -> None:
        self._shares[job.priority].charge(job.tenant, seconds)
