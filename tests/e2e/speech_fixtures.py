"""Fixtures for tests that speak with the shared platform; loaded through `pytest_plugins`."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.e2e.platform import Platform
from tests.e2e.speech_client import SpeechClient

PACED_SECONDS = 0.15
"""What a second of audio of the paced model costs."""

_PREPARE = f"""
from models_registry.services import route_create, route_set
from tenants.services import api_key_issue, tenant_create, tier_create
from tts.services import tone_import

cost = {{"audio_cost_ms": {1000 * PACED_SECONDS}, "busy": False}}
version = tone_import("paced", cost).key
route_create(name="tone-paced")
route_set("tone-paced", {{version: 100}}, "tests")
tier = tier_create(
    name="single", rank=15, priority="realtime", profile="realtime", concurrency=1,
    requests_per_minute=600, characters_per_minute=6_000, max_characters=20_000,
    max_queue_seconds=10.0, allowed_models=["tone", "tone-paced", "tts-1"],
)
print("KEY", api_key_issue(tenant=tenant_create(name="Single"), tier=tier)[1])
"""

PATIENT = "patient"
_PREPARE_PATIENT = f"""
from tenants.services import api_key_issue, tenant_create, tier_create

tier = tier_create(
    name="{PATIENT}", rank=16, priority="standard", profile="standard", concurrency=16,
    requests_per_minute=600, characters_per_minute=60_000, max_characters=20_000,
    max_queue_seconds=150.0, allowed_models=[],
)
print("KEY", api_key_issue(tenant=tenant_create(name="Patient"), tier=tier)[1])
"""


@dataclass(frozen=True, slots=True)
class Paced:
    """A model whose pace is known, and a key of a tier that has limits to run into.

    The tier `single` speaks one request at a time, 6,000 characters a minute, with
    the models tone, tone-paced and tts-1.
    """

    model: str
    key: str
    fields: dict[str, Any]


@pytest.fixture(scope="session")
def speech(platform: Platform) -> Iterator[SpeechClient]:
    """Requests with the key of the first start, whose tier is `hq`."""
    client = SpeechClient(platform)
    yield client
    client.close()


@pytest.fixture(scope="session")
def patient(platform: Platform) -> Iterator[SpeechClient]:
    """Requests of a tier with patience for eight voices on two busy cores."""
    client = SpeechClient(platform, _key_of(platform, _PREPARE_PATIENT))
    yield client
    client.close()


def _key_of(platform: Platform, code: str) -> str:
    """Run `code` on the platform; returns the key that it prints."""
    output = platform.manage("shell", "-v", "0", "-c", code)
    return next(line.split()[1] for line in output.splitlines() if line.startswith("KEY "))


@pytest.fixture(scope="session")
def paced(platform: Platform) -> Paced:
    """The model tone-paced, registered on the platform while it runs."""
    return Paced(
        "tone-paced", _key_of(platform, _PREPARE), {"model": "tone-paced", "voice": "tone-a"}
    )
