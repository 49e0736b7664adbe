"""Who has which claim on computing now."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain

from tts.engine.capacity import Load
from tts.engine.fairness import TenantShares
from tts.engine.job import Job
from tts.engine.request import Priority

Shares = Mapping[Priority, TenantShares]


@dataclass(frozen=True, slots=True)
class Standings:
    """Jobs that could compute, each list in its own order.

    `playing`: listeners that would hear a pause, the least audio ahead first.
    `fresh`: listeners without audio whom the machine carries too, by priority,
    fair between tenants. `ahead`: listeners with enough audio ahead. `beyond`:
    fresh ones past what it carries. `offline`: nobody listens.
    """

    playing: tuple[Job, ...]
    fresh: tuple[Job, ...]
    ahead: tuple[Job, ...]
    beyond: tuple[Job, ...]
    offline: tuple[Job, ...]

    @property
    def listeners(self) -> tuple[Job, ...]:
        """All with a listener, the strongest claim first."""
        return self.playing + self.fresh + self.ahead + self.beyond


def fair_order(jobs: Iterable[Job], shares: Shares) -> list[Job]:
    """By priority; within one fair between tenants; within a tenant as given (by arrival)."""
    by_priority: dict[Priority, list[Job]] = {priority: [] for priority in Priority}
    for job in jobs:
        by_priority[job.priority].append(job)
    return list(
        chain.from_iterable(
            shares[priority].order(members, _next_seconds)
            for priority, members in by_priority.items()
        )
    )


def _next_seconds(job: Job) -> float:
    return job.next_seconds


def rank(
    jobs: Iterable[Job],
    runnable: Callable[[Job], bool],
    shares: Shares,
    load: Load,
    enough: float,
    now: float,
) -> Standings:
    """Sort `jobs` of one pool into their standings; `load` counts those already served."""
    playing: list[Job] = []
    ahead: list[Job] = []
    resident: list[Job] = []
    fresh: list[Job] = []
    offline: list[Job] = []
    for job in jobs:
        if not job.has_work:
            continue
        if not job.offline and (job.playing or job.runs):
            load.add((job,))
        if not runnable(job):
            continue
        if job.offline:
            offline.append(job)
        elif job.playing:
            (playing if job.lead(now) < enough else ahead).append(job)
        else:
            (resident if job.runs else fresh).append(job)
    queue = fair_order(fresh, shares)
    carried = next((i for i, job in enumerate(queue) if not load.carries(job)), len(queue))
    # Those that compute already stay before new ones of their priority.
    claims = sorted(fair_order(resident, shares) + queue[:carried], key=lambda job: job.priority)
    by_need = sorted(playing, key=lambda job: (job.priority, job.dry_at))
    return Standings(
        tuple(by_need),
        tuple(claims),
        tuple(sorted(ahead, key=lambda job: (job.priority, job.dry_at))),
        tuple(queue[carried:]),
        tuple(fair_order(offline, shares)),
    )
