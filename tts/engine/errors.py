"""Errors of the engine side.

EngineError
├── QueueFull            the worker's queue has no room (platform limit)
├── QueueTimeout         waited longer than the request allows
├── DeadlineUnattainable refused: predicted to wait longer than it allows
├── VersionUnavailable   the version is not loaded here, or failed to load
├── WorkerLost           the worker died or is fenced off
├── Draining             the worker is stopping and takes nothing new
├── VoiceUnavailable     the engine does not have this voice
├── NothingToSpeak       the text has nothing that can be spoken
├── SynthesisFailed      the engine failed on this request
└── StreamStalled        the listener did not read for too long
"""

from enum import StrEnum


class ErrorCode(StrEnum):
    """The stable code of each error; it crosses process boundaries."""

    QUEUE_FULL = "queue_full"
    QUEUE_TIMEOUT = "queue_timeout"
    DEADLINE_UNATTAINABLE = "deadline_unattainable"
    VERSION_UNAVAILABLE = "version_unavailable"
    WORKER_LOST = "worker_lost"
    DRAINING = "draining"
    VOICE_UNAVAILABLE = "voice_unavailable"
    NOTHING_TO_SPEAK = "no_speakable_text"
    SYNTHESIS_FAILED = "synthesis_failed"
    STREAM_STALLED = "stream_stalled"


class EngineError(Exception):
    """Base of all engine errors; `retry_after` is in seconds where waiting may help."""

    code = ErrorCode.SYNTHESIS_FAILED

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.retry_after = retry_after


class QueueFull(EngineError):
    """The worker's queue has no room."""

    code = ErrorCode.QUEUE_FULL


class QueueTimeout(EngineError):
    """The request waited longer than it allows."""

    code = ErrorCode.QUEUE_TIMEOUT


class DeadlineUnattainable(EngineError):
    """The request is predicted to wait longer than it allows."""

    code = ErrorCode.DEADLINE_UNATTAINABLE


class VersionUnavailable(EngineError):
    """The version is not loaded here, or failed to load."""

    code = ErrorCode.VERSION_UNAVAILABLE


class WorkerLost(EngineError):
    """The worker that spoke this request died."""

    code = ErrorCode.WORKER_LOST


class Draining(EngineError):
    """The worker is stopping and takes nothing new."""

    code = ErrorCode.DRAINING


class VoiceUnavailable(EngineError):
    """The engine does not have this voice."""

    code = ErrorCode.VOICE_UNAVAILABLE


class NothingToSpeak(EngineError):
    """The text has nothing that can be spoken."""

    code = ErrorCode.NOTHING_TO_SPEAK


class SynthesisFailed(EngineError):
    """The engine failed on this request."""

    code = ErrorCode.SYNTHESIS_FAILED


class StreamStalled(EngineError):
    """The listener did not read for too long."""

    code = ErrorCode.STREAM_STALLED


ERRORS: dict[ErrorCode, type[EngineError]] = {
    cls.code: cls
    for cls in (
        QueueFull,
        QueueTimeout,
        DeadlineUnattainable,
        VersionUnavailable,
        WorkerLost,
        Draining,
        VoiceUnavailable,
        NothingToSpeak,
        SynthesisFailed,
        StreamStalled,
    )
}


def error_from_code(code: str, message: str, retry_after: float | None = None) -> EngineError:
    """Rebuild an error that crossed a process boundary; unknown codes become SynthesisFailed."""
    try:
        cls = ERRORS[ErrorCode(code)]
    except ValueError:
        cls = SynthesisFailed
    return cls(message, retry_after=retry_after)


def failure_of(what: str, error: Exception) -> EngineError:
    """An engine error as it is; of any other its type alone, since its text may be a tenant's."""
    if isinstance(error, EngineError):
        return error
    failure = SynthesisFailed(f"{what}: {type(error).__name__}")
    failure.__cause__ = error
    return failure
