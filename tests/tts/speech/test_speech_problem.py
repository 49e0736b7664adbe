"""Every error becomes one envelope with the headers that clients retry by."""

import pytest
from django.db import (
    DataError,
    IntegrityError,
    InterfaceError,
    OperationalError,
    ProgrammingError,
)
from redis.exceptions import RedisError

from models_registry.errors import RouteNotFound
from tenants.errors import KeyUnknown, LimitExceeded, TierNotAllowed
from tts.audio.errors import EncodingFailed, UnsupportedSampleRate
from tts.engine.errors import ERRORS, ErrorCode, QueueFull, SynthesisFailed
from tts.speech.errors import InvalidParameter, MethodNotAllowed, NoAudio
from tts.speech.problem import problem_of
from tts.text.errors import EmptyText, InvalidControlToken, NoSpeakableText, TextTooLong


@pytest.mark.parametrize(
    ("error", "status", "kind", "code", "param"),
    [
        (KeyUnknown(), 401, "authentication_error", "invalid_api_key", None),
        (TierNotAllowed("hq", ["x"]), 403, "permission_error", "tier_not_allowed", "quality_tier"),
        (RouteNotFound("x"), 404, "not_found_error", "model_not_found", "model"),
        (EmptyText(), 400, "invalid_request_error", "missing_required_parameter", "input"),
        (NoSpeakableText(), 400, "invalid_request_error", "no_speakable_text", "input"),
        (InvalidControlToken("[speed_12]", "speed", 9, 0), 400, "invalid_request_error",
         "invalid_control_token", "input"),
        (TextTooLong(9, 8), 400, "invalid_request_error", "string_above_max_length", "input"),
        (InvalidParameter("m", param="speed"), 400, "invalid_request_error", "invalid_value",
         "speed"),
        (UnsupportedSampleRate("m"), 400, "invalid_request_error", "invalid_value", "sample_rate"),
        (EncodingFailed("m"), 500, "server_error", "encoding_failed", None),
        (QueueFull("m"), 503, "server_error", "queue_full", None),
        (RedisError("secret"), 503, "server_error", "overloaded", None),
        (OperationalError("secret"), 503, "server_error", "overloaded", None),
        (InterfaceError("secret"), 503, "server_error", "overloaded", None),
        (IntegrityError("secret"), 500, "server_error", "internal_error", None),
        (ProgrammingError("secret"), 500, "server_error", "internal_error", None),
        (DataError("secret"), 500, "server_error", "internal_error", None),
        (ValueError("secret"), 500, "server_error", "internal_error", None),
    ],
)  # fmt: skip
def test_envelope(error: Exception, status: int, kind: str, code: str, param: str | None) -> None:
    problem = problem_of(error)
    assert problem.status == status
    body = problem.envelope()["error"]
    assert (body["type"], body["code"], body["param"]) == (kind, code, param)
    assert body["message"]
    assert "secret" not in str(body)


def test_every_engine_error_has_a_status() -> None:
    for code in ErrorCode:
        problem = problem_of(ERRORS[code]("m"))
        assert 400 <= problem.status < 600
        assert problem.code == code


def test_tenant_limit_carries_retry_and_rate_headers() -> None:
    error = LimitExceeded(
        "slow", limit="requests", scope="key", retry_after=0.4,
        rate_headers={"x-ratelimit-remaining-requests": "0"},
    )  # fmt: skip
    assert problem_of(error).headers() == {
        "x-ratelimit-remaining-requests": "0",
        "retry-after": "1",
        "retry-after-ms": "400",
        "x-should-retry": "true",
    }


def test_platform_limit_always_says_when_to_retry() -> None:
    assert problem_of(QueueFull("m")).headers()["retry-after"] == "1"
    assert problem_of(QueueFull("m", retry_after=2.5)).headers()["retry-after-ms"] == "2500"


@pytest.mark.parametrize("error", [InterfaceError(), OperationalError()])
def test_outage_of_the_database_is_tried_again(error: Exception) -> None:
    headers = problem_of(error).headers()
    assert headers["retry-after"] == "1"
    assert "x-should-retry" not in headers


@pytest.mark.parametrize("error", [NoAudio(), SynthesisFailed("m"), ValueError()])
def test_failures_after_work_are_not_repeated_by_clients(error: Exception) -> None:
    assert problem_of(error).headers()["x-should-retry"] == "false"


def test_method_not_allowed_names_those_that_are() -> None:
    assert problem_of(MethodNotAllowed("GET", ["POST", "OPTIONS"])).headers()["allow"] == (
        "POST, OPTIONS"
    )
