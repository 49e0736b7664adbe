"""Which worker takes a request: pure decisions over the latest heartbeats."""

import random
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from tts.engine.errors import Draining, EngineError, VersionUnavailable
from tts.gateway.heartbeat import WorkerBeat

RETRY_AFTER_NO_WORKER = 2.0


@dataclass(frozen=True, slots=True)
class WorkerRef:
    """One life of a worker; a worker that lost its messages begins another."""

    worker_id: str
    incarnation: str


class Placement:
    """The workers as last seen, and the requests of `gateway_id` that they have.

    A beat is up to half a second old when it is used, so what this gateway has
    placed or ended since then is counted by itself.
    """

    def __init__(self, gateway_id: str, rng: random.Random) -> None:
        self._gateway_id = gateway_id
        self._rng = rng
        self._beats: dict[str, WorkerBeat] = {}
        self._placed: dict[str, WorkerRef] = {}

    @property
    def versions(self) -> frozenset[str]:
        """The versions that some worker which takes requests can speak now."""
        return frozenset(
            version
            for beat in self._beats.values()
            if not beat.draining
            for version in beat.versions
        )

    @property
    def workers(self) -> dict[str, WorkerBeat]:
        """The workers that are alive, by id."""
        return dict(self._beats)

    def update(self, beats: Collection[WorkerBeat]) -> list[WorkerRef]:
        """Take the beats of all live workers; returns the lives that have ended since."""
        fresh = {beat.worker_id: beat for beat in beats}
        ended = [
            WorkerRef(beat.worker_id, beat.incarnation)
            for beat in self._beats.values()
            if beat.worker_id not in fresh or fresh[beat.worker_id].incarnation != beat.incarnation
        ]
        self._beats = fresh
        return ended

    def remove(self, worker_id: str) -> None:
        """Forget a worker until it beats again."""
        self._beats.pop(worker_id, None)

    def place(self, request_id: str, version: str, tried: Collection[WorkerRef]) -> WorkerRef:
        """Put a request on a worker for `version` that is not in `tried`.

        It counts there until it is placed again or released. Workers that have the
        version come first, then those that are loading it, then any that did not
        fail to (it may be routed since a moment ago). Raises VersionUnavailable,
        Draining.
        """
        self.release(request_id)
        worker = self._choose(version, tried)
        self._placed[request_id] = worker
        return worker

    def release(self, request_id: str) -> None:
        """The request is over, or was never placed."""
        self._placed.pop(request_id, None)

    def _choose(self, version: str, tried: Collection[WorkerRef]) -> WorkerRef:
        candidates = [
            beat
            for beat in self._beats.values()
            if not beat.draining and WorkerRef(beat.worker_id, beat.incarnation) not in tried
        ]
        for group in (
            [beat for beat in candidates if version in beat.versions],
            [beat for beat in candidates if version in beat.loading],
            [beat for beat in candidates if version not in beat.failed],
        ):
            if group:
                beat = self._best(group)
                return WorkerRef(beat.worker_id, beat.incarnation)
        raise self._refusal(version)

    def _best(self, group: list[WorkerBeat]) -> WorkerBeat:
        """The less loaded of two that are drawn by chance: gateways do not all pick the same."""
        new = self._news(group)
        free = [beat for beat in group if beat.free_slots > new[beat.worker_id]]
        pool = free or group
        drawn = self._rng.sample(pool, 2) if len(pool) > 2 else pool
        return min(drawn, key=lambda beat: (_load(beat, new[beat.worker_id]), self._rng.random()))

    def _news(self, group: list[WorkerBeat]) -> dict[str, int]:
        """How many more requests of this gateway each worker has than at its beat."""
        now = Counter(self._placed.values())
        return {
            beat.worker_id: now[WorkerRef(beat.worker_id, beat.incarnation)]
            - beat.gateways.get(self._gateway_id, 0)
            for beat in group
        }

    def _refusal(self, version: str) -> EngineError:
        if any(version in beat.failed for beat in self._beats.values()):
            # The reason may name files of the installation; operators see it in the beat.
            return VersionUnavailable(f"version {version} could not be loaded", retry_after=30.0)
        if self._beats and all(beat.draining for beat in self._beats.values()):
            return Draining("every worker is stopping", retry_after=RETRY_AFTER_NO_WORKER)
        return VersionUnavailable(
            f"no worker is ready to speak version {version}", retry_after=RETRY_AFTER_NO_WORKER
        )


def _load(beat: WorkerBeat, new: int) -> float:
    return (beat.active + beat.waiting + new) / max(beat.slots, 1)
