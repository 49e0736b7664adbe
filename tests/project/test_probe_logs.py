"""Probes of readiness leave no lines in the log, whatever they answer; other requests do."""

import logging

import pytest
import structlog
from django.conf import settings

from voicehost.logs import NoProbes, without_probes


def record(path: str) -> logging.LogRecord:
    """What Django logs of an answer of status 500 or more."""
    return logging.LogRecord(
        "django.request", logging.ERROR, __file__, 1, "%s: %s", ("Unavailable", path), None
    )


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_probes_are_not_logged(path: str) -> None:
    with pytest.raises(structlog.DropEvent):
        without_probes(None, "error", {"event": "request_finished", "request": f"GET {path}"})
    assert not NoProbes().filter(record(path))


def test_other_requests_are_logged() -> None:
    event = {"event": "request_finished", "request": "GET /v1/models"}
    assert without_probes(None, "error", event) is event
    assert without_probes(None, "info", {"event": "web_listening"})
    assert NoProbes().filter(record("/v1/models"))


def test_the_platform_logs_so() -> None:
    assert without_probes in structlog.get_config()["processors"]
    assert settings.LOGGING["loggers"]["django.request"]["filters"] == ["no_probes"]
