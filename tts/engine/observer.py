"""Who listens to the engine: the core reports, it never calls a metrics library."""

from dataclasses import dataclass
from typing import Protocol

from models_registry.shards.stats import ShardStats
from tts.engine.outcome import SpeechOutcome


@dataclass(frozen=True, slots=True)
class StepStats:
    """One turn of the step loop for one engine: batch size and seconds."""

    version: str
    profile: str
    batch_size: int
    step_seconds: float
    audio_seconds: float


class EngineObserver(Protocol):
    """Receives what the engine core did; implementations must be quick and never raise."""

    def step_finished(self, stats: StepStats) -> None:
        """One engine step was computed."""


class WorkerObserver(EngineObserver, Protocol):
    """Receives what a worker did, and how much it has."""

    def requests_counted(self, waiting: int, active: int) -> None:
        """The worker's requests at a heartbeat, over all versions; told also while it is idle."""

    def shards_counted(self, stats: ShardStats) -> None:
        """What the worker's shards take of its device, at a heartbeat."""


class OutcomeObserver(Protocol):
    """Receives the outcome of every request, once."""

    def speech_finished(self, outcome: SpeechOutcome) -> None:
        """A request ended, in whatever way."""


class NullObserver:
    """Listens to nothing."""

    def step_finished(self, stats: StepStats) -> None:
        """Ignore it."""

    def requests_counted(self, waiting: int, active: int) -> None:
        """Ignore it."""

    def shards_counted(self, stats: ShardStats) -> None:
        """Ignore it."""

    def speech_finished(self, outcome: SpeechOutcome) -> None:
        """Ignore it."""
