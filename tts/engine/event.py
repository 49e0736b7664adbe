"""What the engine says about a request, in order: queued*, started, (chunk | segment)*, finished.

Exactly one `SpeechFinished` ends a request, whatever happens. Every event
carries the attempt it belongs to, so that a reader can drop an older one's.
"""

from dataclasses import dataclass
from enum import StrEnum

from tts.engine.errors import ErrorCode


class FinishReason(StrEnum):
    """How a request ended."""

    COMPLETED = "completed"
    CANCELLED = "cancelled"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class StageTimes:
    """Seconds a request spent in each stage, measured on the worker's monotonic clock.

    `queue`: accepted to first scheduled. `prepare`: tokenising. `compute`: its
    share of engine steps. `postprocess`: speed, gain, limiter, PCM.
    `first_audio`: accepted to first chunk (0.0 while there is none).
    """

    queue: float = 0.0
    prepare: float = 0.0
    compute: float = 0.0
    postprocess: float = 0.0
    first_audio: float = 0.0


@dataclass(frozen=True, slots=True)
class SpeechQueued:
    """The request waits; `position` counts the requests ahead of it (0: it is next)."""

    request_id: str
    attempt: int
    position: int


@dataclass(frozen=True, slots=True)
class SpeechStarted:
    """The first segment is being computed."""

    request_id: str
    attempt: int
    queue_seconds: float
    sample_rate: int


@dataclass(frozen=True, slots=True)
class AudioChunk:
    """`pcm` is mono s16le, whole samples; `sequence` counts chunks of this attempt from 0.

    `offset` is the number of samples of this attempt before this chunk.
    """

    request_id: str
    attempt: int
    sequence: int
    segment_index: int
    offset: int
    pcm: bytes
    sample_rate: int

    @property
    def samples(self) -> int:
        """The number of samples in this chunk."""
        return len(self.pcm) // 2


@dataclass(frozen=True, slots=True)
class SegmentFinished:
    """All audio of a segment has been sent: samples `[start, end)` of the attempt's audio."""

    request_id: str
    attempt: int
    segment_index: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class SpeechFinished:
    """The end of a request; `error_code` and `message` are set when `reason` is ERROR.

    `segments` is how many were spoken to their end, `samples` how many were
    sent, `peak` the largest absolute sample (0.0 to 1.0) and `clipped` how many
    samples the limiter had to hold.
    """

    request_id: str
    attempt: int
    reason: FinishReason
    segments: int = 0
    samples: int = 0
    stages: StageTimes = StageTimes()
    error_code: ErrorCode | None = None
    message: str = ""
    retry_after: float | None = None
    peak: float = 0.0
    clipped: int = 0


EngineEvent = SpeechQueued | SpeechStarted | AudioChunk | SegmentFinished | SpeechFinished
