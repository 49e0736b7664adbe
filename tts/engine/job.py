"""What the scheduler knows: engines, jobs (requests) and runs (segments being computed)."""

from collections import deque
from dataclasses import dataclass, field

from tts.engine.config import BatchingConfig
from tts.engine.costs import ArrivalGap, LinearCost, RealTimeFactor
from tts.engine.request import Priority, Profile
from tts.engines.base import EngineKind, EngineTraits

EngineKey = tuple[str, Profile]


@dataclass(slots=True, eq=False)
class PendingSegment:
    """A segment that waits; `seconds` guesses its audio, `ready` is when it came."""

    index: int
    seconds: float
    ready: float
    preemptions: int = 0


@dataclass(slots=True, eq=False)
class Call:
    """Runs that were started together and share a lane; `whole` until one of them is dropped.

    `kinds` are the cost kinds of their utterances.
    """

    started: float
    rows: int
    live: int
    kinds: set[str] = field(default_factory=set)
    audio: float = 0.0
    whole: bool = True


@dataclass(slots=True, eq=False)
class Run:
    """A segment that the engine computes.

    `seconds` is the expected, `produced` the made audio, before speed.
    """

    run_id: int
    job: "Job"
    segment: PendingSegment
    call: Call
    seconds: float
    produced: float = 0.0

    @property
    def remaining(self) -> float:
        """Expected seconds of audio still to come."""
        return max(0.0, self.seconds - self.produced)


@dataclass(slots=True, eq=False)
class EngineState:
    """One engine: its settings, what it computes, what computing costs.

    `batching` is within what the engine can hold. `cost` is T(n) of a STEP engine's
    step, or of a batching engine's call; `rtf` the lane seconds per audio second of an
    UTTERANCE engine.
    """

    key: EngineKey
    traits: EngineTraits
    batching: BatchingConfig
    runs: dict[int, Run] = field(default_factory=dict)
    cost: LinearCost = field(default_factory=LinearCost)
    rtf: RealTimeFactor = field(default_factory=RealTimeFactor)
    gap: ArrivalGap = field(default_factory=ArrivalGap)

    def __post_init__(self) -> None:
        self.configure(self.batching)

    def configure(self, batching: BatchingConfig) -> None:
        """Take settings, as far as the engine itself goes."""
        self.batching = batching.within(self.traits.max_utterances)

    @property
    def steps(self) -> bool:
        """Whether this is a STEP engine."""
        return self.traits.kind is EngineKind.STEP


@dataclass(slots=True, eq=False)
class Job:
    """One request as the scheduler sees it.

    `headroom` is how many seconds of audio its listener will still take.
    `dry_at` is when the listener's buffer runs empty if nothing more comes.
    `cost_kind` is its latest utterance's, None before the first.
    `playing` says that audio has reached the listener since it last had to wait
    for text: pausing it would be heard.
    """

    request_id: str
    tenant: str
    priority: Priority
    engine: EngineState
    arrival: float
    sequence: int
    max_queue_seconds: float
    speed: float = 1.0
    headroom: float = float("inf")
    pending: deque[PendingSegment] = field(default_factory=deque)
    runs: dict[int, Run] = field(default_factory=dict)
    cost_kind: str | None = None
    started: bool = False
    playing: bool = False
    dry_at: float = 0.0

    @property
    def offline(self) -> bool:
        """Whether nobody listens to it now."""
        return self.priority is Priority.OFFLINE

    @property
    def has_work(self) -> bool:
        """Whether there is anything to compute or being computed."""
        return bool(self.pending or self.runs)

    @property
    def waits(self) -> bool:
        """Whether it has text and never got its first turn: only this counts as queueing."""
        return not self.started and bool(self.pending)

    @property
    def deadline(self) -> float:
        """When waiting for the first turn has lasted too long; it counts from the first text."""
        return self.pending[0].ready + self.max_queue_seconds

    @property
    def remaining(self) -> float:
        """Expected seconds of audio still to compute, before speed."""
        return sum(s.seconds for s in self.pending) + sum(r.remaining for r in self.runs.values())

    @property
    def next_seconds(self) -> float:
        """Expected audio of the next segment, before speed."""
        return self.pending[0].seconds if self.pending else 0.0

    @property
    def room(self) -> float:
        """Seconds its listener will take beyond what is being computed already."""
        return self.headroom - sum(run.remaining for run in self.runs.values()) / self.speed

    def lead(self, now: float) -> float:
        """Seconds of audio the listener has ahead of its playback."""
        return max(0.0, self.dry_at - now)
