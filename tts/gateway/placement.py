"""Which worker takes a request: pure decisions over the latest heartbeats."""

import random
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
    """The workers as last seen, and this gateway's own requests that they did not count yet.

    A placement counts as unseen until its worker has written two more beats:
    the next may have been on its way already.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._beats: dict[str, WorkerBeat] = {}
        self._unseen: dict[str, list[int]] = {}

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
        for ref in ended:
            self._unseen.pop(ref.worker_id, None)
        for worker_id, sequences in list(self._unseen.items()):
            now = fresh[worker_id].sequence if worker_id in fresh else 0
            left = [sequence for sequence in sequences if now < sequence + 2]
            if left:
                self._unseen[worker_id] = left
            else:
                del self._unseen[worker_id]
        return ended

    def remove(self, worker_id: str) -> None:
        """Forget a worker until it beats again."""
        self._beats.pop(worker_id, None)
        self._unseen.pop(worker_id, None)

    def choose(self, version: str, tried: Collection[WorkerRef]) -> WorkerRef:
        """A worker for `version` that is not in `tried`; raises VersionUnavailable, Draining.

        Workers that have the version come first, then those that are loading it,
        then any that did not fail to (it may be routed since a moment ago).
        """
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
                self._unseen.setdefault(beat.worker_id, []).append(beat.sequence)
                return WorkerRef(beat.worker_id, beat.incarnation)
        raise self._refusal(version)

    def _best(self, group: list[WorkerBeat]) -> WorkerBeat:
        """The less loaded of two that are drawn by chance: gateways do not all pick the same."""
        free = [beat for beat in group if beat.free_slots > self._pending(beat)]
        pool = free or group
        drawn = self._rng.sample(pool, 2) if len(pool) > 2 else pool
        return min(drawn, key=lambda beat: (self._load(beat), self._rng.random()))

    def _pending(self, beat: WorkerBeat) -> int:
        return len(self._unseen.get(beat.worker_id, ()))

    def _load(self, beat: WorkerBeat) -> float:
        return (beat.active + beat.waiting + self._pending(beat)) / max(beat.slots, 1)

    def _refusal(self, version: str) -> EngineError:
        if any(version in beat.failed for beat in self._beats.values()):
            # The reason may name files of the installation; operators see it in the beat.
            return VersionUnavailable(f"version {version} could not be loaded", retry_after=30.0)
        if self._beats and all(beat.draining for beat in self._beats.values()):
            return Draining("every worker is stopping", retry_after=RETRY_AFTER_NO_WORKER)
        return VersionUnavailable(
            f"no worker is ready to speak version {version}", retry_after=RETRY_AFTER_NO_WORKER
        )
