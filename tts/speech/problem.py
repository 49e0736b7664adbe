"""Every error as the API says it: one status, one envelope, one set of headers.

The envelope and its types are OpenAI's: clients read `error.message`, `type`,
`param` and `code`, and retry by `Retry-After`, `retry-after-ms` and
`x-should-retry`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import singledispatch

from django.db import InterfaceError, OperationalError
from redis.exceptions import RedisError

from models_registry.errors import RegistryError
from tenants.errors import TenantError
from tts.audio.errors import AudioError, UnsupportedBitrate, UnsupportedFormat
from tts.audio.errors import UnsupportedSampleRate as UnsupportedRate
from tts.engine.errors import EngineError, ErrorCode
from tts.speech.errors import MethodNotAllowed, SpeechError
from tts.text.errors import EmptyText, TextError, TextTooLong

# OpenAI's names, which clients branch on.
_KINDS: Mapping[int, str] = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}


def kind_of(status: int) -> str:
    """The envelope's `type` for an HTTP status."""
    return _KINDS.get(status, "invalid_request_error" if status < 500 else "server_error")


@dataclass(frozen=True, slots=True)
class Problem:
    """An error for a client. `retry_after` is in seconds.

    `should_retry` overrides what the client's library would do by itself; None leaves it.
    """

    status: int
    message: str
    kind: str = "invalid_request_error"
    code: str | None = None
    param: str | None = None
    retry_after: float | None = None
    should_retry: bool | None = None
    allowed: tuple[str, ...] = ()
    rate_headers: Mapping[str, str] = field(default_factory=dict)

    def envelope(self) -> dict[str, dict[str, str | None]]:
        """The JSON body."""
        return {
            "error": {
                "message": self.message,
                "type": self.kind,
                "param": self.param,
                "code": self.code,
            }
        }

    def headers(self) -> dict[str, str]:
        """The headers that belong to this error, names in lower case."""
        headers = dict(self.rate_headers)
        if self.retry_after is not None:
            headers["retry-after"] = str(max(1, math.ceil(self.retry_after)))
            headers["retry-after-ms"] = str(max(1, math.ceil(self.retry_after * 1000)))
        if self.should_retry is not None:
            headers["x-should-retry"] = "true" if self.should_retry else "false"
        if self.status == 401:
            headers["www-authenticate"] = "Bearer"
        if self.allowed:
            headers["allow"] = ", ".join(self.allowed)
        return headers


@singledispatch
def problem_of(error: BaseException) -> Problem:
    """What a client is told about `error`; of unknown ones, nothing (log those of status 500).

    Packages add their own error trees with `problem_of.register`.
    """
    return Problem(
        500,
        "An internal error occurred.",
        kind="server_error",
        code="internal_error",
        should_retry=False,
    )


@problem_of.register
def _speech(error: SpeechError) -> Problem:
    return Problem(
        error.status,
        error.message,
        kind=error.kind,
        code=error.code,
        param=error.param,
        retry_after=error.retry_after,
        # The work was done and charged for; doing it again by itself helps nobody.
        should_retry=False if error.status == 500 else None,
        allowed=error.allowed if isinstance(error, MethodNotAllowed) else (),
    )


@problem_of.register
def _tenant(error: TenantError) -> Problem:
    return Problem(
        error.status,
        error.message,
        kind=error.type,
        code=error.code,
        param=error.param,
        retry_after=error.retry_after,
        should_retry=error.should_retry,
        rate_headers=error.rate_headers,
    )


# Of the database, these only: a broken constraint or statement is a defect, and no wait mends it.
@problem_of.register(RedisError)
@problem_of.register(OperationalError)
@problem_of.register(InterfaceError)
def _outage(error: RedisError | OperationalError | InterfaceError) -> Problem:
    return Problem(
        503,
        "The service is not available right now.",
        kind="server_error",
        code="overloaded",
        retry_after=1.0,
    )


@problem_of.register
def _registry(error: RegistryError) -> Problem:
    return Problem(
        error.status,
        error.message,
        kind=kind_of(error.status),
        code=error.code,
        param=error.param,
        retry_after=error.retry_after,
    )


@problem_of.register
def _text(error: TextError) -> Problem:
    code = error.code
    if isinstance(error, TextTooLong):
        code = "string_above_max_length"
    elif isinstance(error, EmptyText):
        code = "missing_required_parameter"
    return Problem(400, error.message, code=code, param="input")


@problem_of.register
def _audio(error: AudioError) -> Problem:
    if isinstance(error, UnsupportedFormat):
        return Problem(400, str(error), code="invalid_value", param="response_format")
    if isinstance(error, UnsupportedRate):
        return Problem(400, str(error), code="invalid_value", param="sample_rate")
    if isinstance(error, UnsupportedBitrate):
        return Problem(400, str(error), code="invalid_value", param="bitrate")
    return Problem(
        500,
        "The audio could not be encoded.",
        kind="server_error",
        code="encoding_failed",
        should_retry=False,
    )


# 503 where another moment or another worker may do; the platform's limit is never a 429.
_ENGINE_STATUS: Mapping[ErrorCode, int] = {
    ErrorCode.QUEUE_FULL: 503,
    ErrorCode.QUEUE_TIMEOUT: 503,
    ErrorCode.DEADLINE_UNATTAINABLE: 503,
    ErrorCode.VERSION_UNAVAILABLE: 503,
    ErrorCode.WORKER_LOST: 503,
    ErrorCode.DRAINING: 503,
    ErrorCode.VOICE_UNAVAILABLE: 404,
    ErrorCode.NOTHING_TO_SPEAK: 400,
    ErrorCode.SYNTHESIS_FAILED: 500,
    ErrorCode.STREAM_STALLED: 408,
}
_ENGINE_PARAM: Mapping[ErrorCode, str] = {
    ErrorCode.VOICE_UNAVAILABLE: "voice",
    ErrorCode.NOTHING_TO_SPEAK: "input",
}


@problem_of.register
def _engine(error: EngineError) -> Problem:
    status = _ENGINE_STATUS[error.code]
    retry_after = error.retry_after
    if status == 503 and retry_after is None:
        retry_after = 1.0
    return Problem(
        status,
        error.message,
        kind=kind_of(status),
        code=str(error.code),
        param=_ENGINE_PARAM.get(error.code),
        retry_after=retry_after,
        should_retry=False if status == 500 else None,
    )
