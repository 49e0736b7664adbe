"""Whether a new request can be taken, and how long it would wait."""

from collections.abc import Collection, Sequence
from itertools import takewhile

from tts.engine.capacity import Load, cost_of_audio
from tts.engine.config import CoreConfig
from tts.engine.errors import DeadlineUnattainable, QueueFull
from tts.engine.job import EngineState, Job
from tts.engine.request import Priority
from tts.engine.standings import Shares, fair_order

SHORTEST_RETRY = 0.1
LONGEST_RETRY = 60.0
RETRY_UNKNOWN = 1.0


def admit(
    job: Job,
    pool: Sequence[EngineState],
    jobs: Collection[Job],
    shares: Shares,
    config: CoreConfig,
    now: float,
) -> None:
    """Raise QueueFull or DeadlineUnattainable if `job` had better go elsewhere."""
    waiting = [other for other in jobs if not other.started]
    wait = predicted_wait(job, pool, jobs, shares, config, now)
    retry_after = retry_seconds(wait)
    if len(waiting) >= config.max_waiting:
        raise QueueFull(
            f"{len(waiting)} requests wait already, which is all this worker holds",
            retry_after=retry_after,
        )
    offline = sum(other.offline for other in waiting)
    if job.offline and offline >= max(1, int(config.max_waiting * config.offline_slots_share)):
        raise QueueFull(
            f"{offline} offline requests wait already, which is all this worker holds of them",
            retry_after=retry_after,
        )
    if wait > job.max_queue_seconds:
        raise DeadlineUnattainable(
            f"the first turn would come in about {wait:.1f} s, "
            f"later than the {job.max_queue_seconds:g} s allowed",
            retry_after=retry_after,
        )


def retry_seconds(wait: float) -> float:
    """When to come again, for whom `wait` seconds are predicted (0.0: not known)."""
    return min(max(wait, SHORTEST_RETRY), LONGEST_RETRY) if wait else RETRY_UNKNOWN


def predicted_wait(
    job: Job,
    pool: Sequence[EngineState],
    jobs: Collection[Job],
    shares: Shares,
    config: CoreConfig,
    now: float,
) -> float:
    """Seconds until `job` gets its first turn; 0.0 when at once, or while too little is measured.

    A step engine that was measured at one size only has yet to show what a full
    batch costs: nobody is sent away on that guess.

    With n requests being served and p waiting before this one, places come
    free evenly while the work of the n is done: the wait is (p + 1) / n of
    that work, then the work of those before it that must finish as well, over
    what the machine computes in a second.
    """
    size = job.engine.cost.only_size if job.engine.steps else None
    if size is not None and size < job.engine.batching.max_batch:
        return 0.0
    members = [other for other in jobs if other.engine in pool and other.has_work]
    rival = [o for o in members if o.started and (job.offline or not o.offline)]
    queue = fair_order([o for o in members if not o.started] + [job], shares)
    before = list(takewhile(lambda other: other is not job, queue))
    capacity = 1.0 if job.engine.steps else float(config.lanes)
    if _fits(job, rival, before, config, now):
        return 0.0 if job.engine.steps else _next_lane(rival, before, config) / capacity
    busy = sum(_work(other, config) for other in rival)
    served = len(rival)
    part = min(1.0, (len(before) + 1) / served) if served else 0.0
    also = sum(_work(other, config) for other in before[: max(0, len(before) + 1 - served)])
    return (busy * part + also) / capacity


def _fits(
    job: Job, rival: Sequence[Job], before: Sequence[Job], config: CoreConfig, now: float
) -> bool:
    """Whether `job` and all before it would be served side by side with those that are."""
    engine = job.engine
    mates = [other for other in (*rival, *before) if other.engine is engine]
    if engine.steps and len(mates) >= engine.batching.max_batch:
        return False
    if (
        not engine.steps
        and len(rival) + len(before) >= config.lanes
        and job.priority is (Priority.OFFLINE)
    ):
        return False
    load = Load(
        1.0 if engine.steps else float(config.lanes),
        config.safety_factor,
        config.enough_buffer_seconds,
        now,
    )
    load.add(other for other in (*rival, *before) if not other.offline)
    return load.carries(job)


def _next_lane(rival: Sequence[Job], before: Sequence[Job], config: CoreConfig) -> float:
    """Lane seconds until a lane is free: what runs, then the first segment of all before."""
    safety = config.safety_factor
    running = sum(
        run.remaining * cost_of_audio(other, safety)
        for other in rival
        for run in other.runs.values()
    )
    return running + sum(o.next_seconds * cost_of_audio(o, safety) for o in before)


def _work(job: Job, config: CoreConfig) -> float:
    """Computing seconds that `job` still needs; 0.0 while its engine is unmeasured."""
    return job.remaining * cost_of_audio(job, config.safety_factor)
