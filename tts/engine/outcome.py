"""One frozen record of how a request went; metrics, ledger and analysis all read this."""

from dataclasses import dataclass

from tts.engine.event import FinishReason, StageTimes


@dataclass(frozen=True, slots=True)
class SpeechOutcome:
    """Who asked for what, what served it, how long each stage took, how it ended.

    Times are seconds on the web process's monotonic clock, except `stages`,
    which is the worker's own account. `first_audio_seconds` is None when no
    audio left. `characters_asked` and `characters_spoken` are code points of
    the input as received. `rtf` is the real-time factor: seconds the engine spent on
    the request (its share, where it computed others beside) per second of audio; None
    without audio, and where the worker was not heard to the end.
    `finished_at` is a Unix timestamp.
    """

    request_id: str
    tenant_id: str
    key_id: str
    model: str
    version: str
    tier: str
    voice: str
    transport: str
    worker_id: str
    attempts: int
    reason: FinishReason
    error_code: str
    characters_asked: int
    characters_spoken: int
    audio_seconds: float
    rtf: float | None
    total_seconds: float
    first_audio_seconds: float | None
    stages: StageTimes
    encode_seconds: float
    send_seconds: float
    finished_at: float
