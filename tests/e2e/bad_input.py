"""What tests of bad input share: keys of two tenants, exact errors, and a look at what is left.

Loaded through `pytest_plugins`.
"""

import http.client
import json
import re
import socket
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
import redis

from tests.e2e.pair import until
from tests.e2e.platform import Platform
from tests.e2e.speech_client import PATH
from tts.gateway.census import workers_read_sync

REQUEST: dict[str, Any] = {
    "model": "tone",
    "voice": "tone-a",
    "input": "Hi.",
    "response_format": "pcm",
    "quality_tier": "wide-open",
}
"""A request that is served; tests spoil one field of it."""

LONGEST = 20_000
"""Characters of one text in the tier `wide-open`."""

_PREPARE = f"""
import json
from datetime import UTC, datetime
from coordination.epoch import epoch_bump
from models_registry.batching import Batching
from models_registry.services import route_create, route_set, version_batching_set
from tenants.models import ApiKey
from tenants.services import api_key_issue, api_key_revoke, tenant_create, tier_create
from tts.services import VoiceDraft, tone_import, voice_create

crawl = {{"step_seconds": 1.0, "cost_ms": 500.0, "busy": False}}
key = tone_import("crawl", crawl).key
route_create(name="tone-crawl")
route_set("tone-crawl", {{key: 100}}, "tests")
version_batching_set(key, Batching(1, 1, 0))
much = {{"requests_per_minute": 10**6, "characters_per_minute": 5 * 10**7}}
wide = tier_create(name="wide-open", rank=1000, priority="realtime", profile="realtime",
    concurrency=1000, max_characters={LONGEST}, max_queue_seconds=3600.0, **much)
narrow = tier_create(name="narrow", rank=3, priority="realtime", profile="realtime",
    concurrency=5, max_characters=2_000, max_queue_seconds=10.0, requests_per_minute=30,
    characters_per_minute=10**6, allowed_models=["tone", "tts-1"])
own, other = tenant_create(name="Own"), tenant_create(name="Other")
keys = {{
    "wide": api_key_issue(tenant=own, tier=wide),
    "other": api_key_issue(tenant=other, tier=wide),
    "narrow": api_key_issue(tenant=tenant_create(name="Narrow"), tier=narrow),
    "rated": api_key_issue(tenant=tenant_create(name="Rated"), tier=narrow),
    "revoked": api_key_issue(tenant=own, tier=wide),
    "expired": api_key_issue(tenant=own, tier=wide),
    "mute": api_key_issue(tenant=own, tier=wide, scopes=["voices"]),
    "leaving": api_key_issue(tenant=own, tier=wide),
}}
api_key_revoke(key=keys["revoked"][0])
past = datetime(2020, 1, 1, tzinfo=UTC)
ApiKey.objects.filter(pk=keys["expired"][0].pk).update(expires_at=past)
epoch_bump()
for name, languages in (("own-voice", ("en", "zh")), ("english-only", ("en",))):
    voice_create(VoiceDraft(name=name, engine="tone", languages=languages, tenant_id=own.pk))
print("KEYS", json.dumps({{name: secret for name, (_, secret) in keys.items()}}))
"""


class RawResponse(http.client.HTTPResponse):
    """An answer and its whole body."""

    body = b""


@dataclass(frozen=True, slots=True)
class Target:
    """A platform under attack.

    Keys: `wide` (all models, no limit in the way) and `other` are of two tenants, of
    which the first has the voices own-voice and english-only; `narrow` and `rated`
    (5 requests at a time, 30 a minute, 2,000 characters, models tone and tts-1);
    `revoked`, `expired`, `mute` (without the scope speech) and `leaving`, to be
    revoked. The model tone-crawl speaks one request at a time, slowly.
    """

    platform: Platform
    keys: Mapping[str, str]
    http: httpx.Client
    redis: redis.Redis

    def headers(self, key: str = "wide") -> dict[str, str]:
        """What a request with the key of this name carries."""
        return {"Authorization": f"Bearer {self.keys[key]}"}

    def post(self, key: str = "wide", **changes: Any) -> httpx.Response:
        """REQUEST with these fields changed."""
        return self.http.post(PATH, json=REQUEST | changes, headers=self.headers(key))

    def stream(self, key: str = "wide", **changes: Any) -> AbstractContextManager[httpx.Response]:
        """The same, to be read as it comes."""
        body = REQUEST | changes
        return self.http.stream("POST", PATH, json=body, headers=self.headers(key))

    def send(self, body: bytes, **headers: str) -> httpx.Response:
        """A body of any bytes, as JSON unless `headers` say otherwise."""
        given = {"content-type": "application/json", **self.headers()}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        return self.http.post(PATH, content=body, headers=given)

    def raw(self, data: bytes, *, seconds: float = 5.0) -> "RawResponse":
        """The answer to exactly these bytes, read whole."""
        with closing(socket.create_connection(self.address, seconds)) as connection:
            connection.sendall(data)
            method = data.partition(b" ")[0].decode("latin-1")
            response = RawResponse(connection, method=method)
            response.begin()
            response.body = response.read()
        return response

    def read_all(self, data: bytes, *, seconds: float = 10.0) -> bytes:
        """All that is answered to these bytes until the server closes."""
        answer = b""
        with closing(socket.create_connection(self.address, seconds)) as connection:
            connection.sendall(data)
            while piece := connection.recv(65_536):
                answer += piece
        return answer

    @property
    def address(self) -> tuple[str, int]:
        """Where the platform listens."""
        return self.platform.host, self.platform.port

    def left(self) -> dict[str, int]:
        """Leases that somebody holds, of limits and of routes."""
        found = {}
        for pattern in ("vh:limit:*:leases", "vh:lease:*"):
            for name in self.redis.scan_iter(pattern):
                if held := int(self.redis.zcard(name)):  # type: ignore[arg-type]
                    found[name.decode()] = held
        return found

    def is_idle(self) -> bool:
        """Whether the worker says that it holds no request."""
        beats = workers_read_sync(self.redis)
        return bool(beats) and not any(beat.active or beat.waiting for beat in beats)

    def log(self) -> str:
        """Everything that the platform's processes have written."""
        return (self.platform.var_dir / "serve.log").read_text()

    def web_memory(self) -> int:
        """Resident bytes of the web process."""
        (pid,) = self.platform.processes("run_web")
        with open(f"/proc/{pid}/status") as status:  # noqa: PTH123 - no file to speak of
            found = re.search(r"VmRSS:\s+(\d+) kB", status.read())
        assert found
        return int(found[1]) * 1024


@pytest.fixture(scope="session")
def attacked(platform: Platform) -> Iterator[Target]:
    """The shared platform, with tenants and models to attack it by."""
    output = platform.manage("shell", "-v", "0", "-c", _PREPARE)
    keys = next(line[5:] for line in output.splitlines() if line.startswith("KEYS "))
    url = (platform.var_dir / "run" / "redis.url").read_text()
    limits = httpx.Limits(max_connections=None)
    with (
        httpx.Client(base_url=platform.url, timeout=60, limits=limits, trust_env=False) as client,
        redis.Redis.from_url(url) as store,
    ):
        yield Target(platform, json.loads(keys), client, store)


@pytest.fixture
def target(attacked: Target) -> Iterator[Target]:
    """The platform under attack; afterwards it answers, and nothing of the attack is left."""
    yield attacked
    health = attacked.http.get("/healthz")
    assert (health.status_code, health.json()) == (200, {"status": "ok"})
    until(lambda: not attacked.left(), seconds=5)


def error_of(
    response: httpx.Response, status: int, code: str | None, param: str | None = None
) -> str:
    """The message of an error that must be exactly this one."""
    assert response.status_code == status, response.text[:500]
    assert response.headers["content-type"].partition(";")[0] == "application/json"
    return envelope_check(response.json(), status, code, param)


def envelope_check(
    body: Mapping[str, Any], status: int, code: str | None, param: str | None = None
) -> str:
    """The message of an envelope that must be exactly this one."""
    assert body.keys() == {"error"}
    error = body["error"]
    assert error.keys() == {"message", "type", "param", "code"}
    kinds = {
        401: "authentication_error", 403: "permission_error", 404: "not_found_error",
        429: "rate_limit_error", 500: "server_error", 503: "server_error",
    }  # fmt: skip
    expected = (kinds.get(status, "invalid_request_error"), code, param)
    assert (error["type"], error["code"], error["param"]) == expected, error
    message = error["message"]
    assert isinstance(message, str)
    assert 10 <= len(message) < 2_000
    return message
