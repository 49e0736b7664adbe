"""Which workers count as alive: pure decisions over the beats that a gateway saw."""

from collections.abc import Collection

from tts.gateway.heartbeat import STARVED_SECONDS, WorkerBeat

FORGET_SECONDS = 5.0
"""A worker without a beat for this long is taken out of the index."""


class Sightings:
    """What came of the last looks at the index of workers and at their beats.

    A worker whose beat is gone counts as dead at once, unless a supervisor on this
    very `host` would have announced its death. Then it may only have been kept from
    beating by a busy machine, and counts as alive for STARVED_SECONDS.
    """

    def __init__(self, host: str) -> None:
        self._host = host
        self._last: dict[str, WorkerBeat] = {}
        self._missing_since: dict[str, float] = {}

    @property
    def known(self) -> frozenset[str]:
        """The workers whose beats to look at."""
        return frozenset(self._last) | frozenset(self._missing_since)

    def look(
        self, listed: Collection[str], beats: Collection[WorkerBeat], now: float
    ) -> list[WorkerBeat]:
        """Take a look of the time `now` (s); returns the beats of all that count as alive.

        `listed` are the ids in the index, `beats` those that were there, of `known`
        and of what is new in the index.
        """
        present = {beat.worker_id: beat for beat in beats}
        missing = (self.known | set(listed)) - set(present)
        self._missing_since = {name: self._missing_since.get(name, now) for name in missing}
        starved = {
            name: beat
            for name, beat in self._last.items()
            if name in missing and self._may_be_starved(beat, now)
        }
        self._last = present | starved
        return list(self._last.values())

    def ended(self, worker_id: str) -> None:
        """A worker's death was announced: only a beat makes it count again."""
        self._last.pop(worker_id, None)

    def gone(self, now: float) -> list[str]:
        """Those missing for long: they are forgotten here, and belong out of the index."""
        gone = [n for n, since in self._missing_since.items() if now - since > FORGET_SECONDS]
        for name in gone:
            del self._missing_since[name]
            self._last.pop(name, None)
        return gone

    def _may_be_starved(self, beat: WorkerBeat, now: float) -> bool:
        # One that drains takes its beat away when it leaves, and nobody announces that.
        announced = beat.supervised and beat.host == self._host
        recent = now - self._missing_since[beat.worker_id] < STARVED_SECONDS
        return announced and recent and not beat.draining
