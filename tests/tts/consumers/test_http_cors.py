"""The speech endpoint answers browsers by the same settings as the rest of the API."""

import pytest
from pytest_django import Settings

from tests.tts.consumers.test_http_speech import HEADERS, ask
from tests.tts.speech.speech_fakes import Platform

ORIGIN = "https://app.example"


@pytest.fixture(autouse=True)
def allowed_origin(settings: Settings) -> None:
    settings.CORS_ALLOWED_ORIGINS = [ORIGIN]


async def test_response_is_readable_by_an_allowed_origin(speech_platform: Platform) -> None:
    exchange = await ask(speech_platform, headers={**HEADERS, "origin": ORIGIN}).done()
    assert exchange.status == 200
    assert exchange.headers["access-control-allow-origin"] == ORIGIN
    exposed = exchange.headers["access-control-expose-headers"].split(", ")
    ours = {name for name in exchange.headers if name.startswith(("x-", "server-timing"))}
    assert ours - {"x-accel-buffering"} <= set(exposed)
    assert "origin" in exchange.headers["vary"]


async def test_errors_are_readable_too(speech_platform: Platform) -> None:
    headers = {"origin": ORIGIN, "content-type": "application/json"}
    exchange = await ask(speech_platform, headers=headers).done()
    assert exchange.status == 401
    assert exchange.headers["access-control-allow-origin"] == ORIGIN


async def test_preflight(speech_platform: Platform) -> None:
    headers = {"origin": ORIGIN, "access-control-request-method": "POST"}
    exchange = await ask(speech_platform, b"", method="OPTIONS", headers=headers).done()
    assert (exchange.status, exchange.body) == (200, b"")
    assert exchange.headers["access-control-allow-origin"] == ORIGIN
    assert "authorization" in exchange.headers["access-control-allow-headers"]
    assert "POST" in exchange.headers["access-control-allow-methods"]


async def test_other_origins_get_no_permission(speech_platform: Platform) -> None:
    exchange = await ask(speech_platform, headers={**HEADERS, "origin": "https://evil"}).done()
    assert exchange.status == 200
    assert "access-control-allow-origin" not in exchange.headers
    assert exchange.headers["vary"] == "origin"


async def test_without_origin_caches_still_learn_of_it(speech_platform: Platform) -> None:
    exchange = await ask(speech_platform).done()
    assert exchange.headers["vary"] == "origin"
