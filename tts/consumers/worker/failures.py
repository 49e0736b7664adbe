"""Why engines, and the versions, cannot be had, and when to try again."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from tts.consumers.worker.loading import EngineKey
from tts.engine.errors import VersionUnavailable
from tts.engine.request import Profile

RETRY_FIRST = 5.0
RETRY_MOST = 60.0
RETRY_AFTER_FAILED = 30.0
FORGET_SECONDS = 600.0
"""An engine that went well for this long begins with the first pause again."""

READ_RETRY_FIRST = 0.5
"""The first pause after a failed read of the versions: a database is often back at once."""


@dataclass(frozen=True, slots=True)
class Failure:
    """`reason` is for operators (it may name files), `error` for callers."""

    reason: str
    error: VersionUnavailable
    retry_at: float
    delay: float


class Failures:
    """What failed, with pauses that double from failure to failure."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._now: dict[EngineKey, Failure] = {}
        self._past: dict[EngineKey, Failure] = {}

    def add(self, key: EngineKey, reason: str, retry_after: float | None = None) -> Failure:
        """An engine failed."""
        before = self._now.get(key) or self._past.get(key)
        now = self._clock()
        recent = before is not None and now - before.retry_at < FORGET_SECONDS
        delay = min(before.delay * 2, RETRY_MOST) if before and recent else RETRY_FIRST
        error = VersionUnavailable(
            f"version {key[0]} could not be loaded", retry_after=retry_after or RETRY_AFTER_FAILED
        )
        self._now[key] = failure = Failure(reason, error, now + delay, delay)
        return failure

    def blocking(self, key: EngineKey) -> Failure | None:
        """The failure of an engine whose pause is not over."""
        failure = self._now.get(key)
        return failure if failure is not None and self._clock() < failure.retry_at else None

    def loaded(self, key: EngineKey) -> None:
        """The engine is there; should it fail soon, its pauses go on from where they were."""
        failure = self._now.pop(key, None)
        if failure is not None:
            self._past[key] = failure

    def keep(self, versions: Collection[str]) -> None:
        """Forget all versions but these."""
        self._now = {key: kept for key, kept in self._now.items() if key[0] in versions}
        self._past = {key: kept for key, kept in self._past.items() if key[0] in versions}

    @property
    def reasons(self) -> dict[str, str]:
        """What is wrong, by version."""
        return {version: failure.reason for (version, _), failure in self._now.items()}

    def pause(self, profile: Profile) -> float | None:
        """Seconds until the first engine of `profile` may be tried again."""
        times = [failure.retry_at for (_, mine), failure in self._now.items() if mine is profile]
        return min(times) - self._clock() if times else None


class Pause:
    """How long to wait before the versions are read again: after failures not so long."""

    def __init__(self, usual: float) -> None:
        self.seconds = usual
        self._usual = usual
        self._next = READ_RETRY_FIRST

    def failed(self) -> None:
        """They could not be read: soon again, later from failure to failure."""
        self.seconds = min(self._next, self._usual)
        self._next = self.seconds * 2

    def succeeded(self) -> None:
        """They were read."""
        self.seconds, self._next = self._usual, READ_RETRY_FIRST
