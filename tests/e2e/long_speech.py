"""A voice whose speech lasts, so that something can happen meanwhile, and how to ask for it."""

import http.client

from tests.e2e.console import Console
from tests.e2e.pair import speech_body
from tests.e2e.platform import Platform

RATE = 24_000
"""Samples a second."""
CHARACTER_SECONDS = 0.5
"""How long a character sounds."""
LONG_TONE = """
from models_registry.services import route_create, route_set
from tts.services import tone_import
config = {"step_seconds": 0.5, "cost_ms": cost_ms, "character_seconds": character_seconds}
route_create(name="long")
route_set("long", {tone_import("long", config).key: 100}, "test")
"""


def long_tone_make(platform: Platform, *, cost_ms: float) -> None:
    """Make the model `long`; half a second of it takes `cost_ms` to compute."""
    with Console(platform) as console:
        console.run(LONG_TONE, cost_ms=cost_ms, character_seconds=CHARACTER_SECONDS)


def speech_asked(
    platform: Platform, model: str, text: str, *, key: str = ""
) -> http.client.HTTPConnection:
    """A connection on which a request for raw audio has been sent."""
    connection = http.client.HTTPConnection(platform.host, platform.port, timeout=30)
    headers = {
        "Authorization": f"Bearer {key or platform.key}",
        "Content-Type": "application/json",
    }
    connection.request("POST", "/v1/audio/speech", speech_body(model, text), headers)
    return connection
