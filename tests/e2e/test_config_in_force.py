"""A change of configuration is in force within a second in every process, also without hints."""

import http.client
import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.e2e.console import Answer, Console
from tests.e2e.pair import Pair, speech_body, until
from tests.e2e.speaking import SLACK

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("pair"), pytest.mark.timeout(120)]

IN_FORCE_SECONDS = 1.0 + SLACK
BEAT_SECONDS = 0.2

ISSUE = """
from tenants.models import QualityTier, Tenant
from tenants.services import api_key_issue, tenant_create, tier_create
wide = {"concurrency": 1000, "requests_per_minute": 10**6, "characters_per_minute": 10**7}
tier = QualityTier.objects.filter(name="narrow").first() or tier_create(
    name="narrow", rank=80, priority="realtime", profile="realtime",
    max_characters=1000, max_queue_seconds=30.0, **wide)
tenant = Tenant.objects.filter(name="Narrow").first() or tenant_create(name="Narrow", **wide)
key, result = api_key_issue(tenant=tenant, tier=tier)
"""
LAYER = """
from channels.layers import get_channel_layer
result = type(get_channel_layer()).__name__
"""


class Keeper:
    """A connection to one web process that stays open."""

    def __init__(self, pair: Pair, key: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", pair.platform.port, timeout=30)
        self._connection.connect()
        self._key = key
        port = self._connection.sock.getsockname()[1]
        self.pid = until(lambda: pair.web_process_of(port))

    def close(self) -> None:
        self._connection.close()

    def speak(self, model: str = "tone", text: str = "hi", **fields: object) -> tuple[int, str]:
        """The status, and the version that spoke or the error's code."""
        self._connection.request(
            "POST",
            "/v1/audio/speech",
            body=speech_body(model, text, **fields),
            headers={
                "Authorization": f"Bearer {self._key}",
                "Content-Type": "application/json",
            },
        )
        response = self._connection.getresponse()
        body = response.read()
        if response.status == 200:
            return 200, response.headers["x-model-version"]
        return response.status, json.loads(body)["error"]["code"]


class Both:
    """A connection to each web process, all with the key of a tier of its own."""

    def __init__(self, pair: Pair, key: str, stack: ExitStack) -> None:
        found: dict[int, Keeper] = {}
        deadline = time.monotonic() + 30
        while len(found) < 2:
            assert time.monotonic() < deadline, "one web process takes all connections"
            # Opened together, so that one process does not take them all.
            for keeper in [Keeper(pair, key) for _ in range(4)]:
                stack.callback(keeper.close)
                found.setdefault(keeper.pid, keeper)
        self.keepers = tuple(found.values())

    def all(self, ask: Callable[[Keeper], tuple[int, str]]) -> set[tuple[int, str]]:
        """The answers of all processes."""
        return {ask(keeper) for keeper in self.keepers}

    def in_force(
        self, change: Answer, ask: Callable[[Keeper], tuple[int, str]], answer: tuple[int, str]
    ) -> None:
        """Assert that every process answers so within a second of the change."""
        until(lambda: self.all(ask) == {answer}, seconds=IN_FORCE_SECONDS + 30)
        assert time.monotonic() - change.at < IN_FORCE_SECONDS


@pytest.fixture(scope="module", params=["with hints", "without hints"])
def operator(request: pytest.FixtureRequest, shared_pair: Pair) -> Iterator[Console]:
    """Who makes the changes; every message to a group that it sends may be lost."""
    if request.param == "with hints":
        yield shared_pair.console
        return
    with Console(
        shared_pair.platform, DJANGO_SETTINGS_MODULE="tests.e2e.settings_without_hints"
    ) as console:
        assert console.run(LAYER).result == "DeafLayer"
        yield console


@pytest.fixture(scope="module")
def secret(shared_pair: Pair) -> str:
    key = shared_pair.console.run(ISSUE).result
    assert isinstance(key, str)
    return key


@pytest.fixture
def both(pair: Pair, secret: str) -> Iterator[Both]:
    with ExitStack() as stack:
        yield Both(pair, secret, stack)


def test_changed_weights(both: Both, operator: Console) -> None:
    code = "from models_registry.services import route_set; route_set('tone', {key: 100}, 'test')"
    assert both.all(Keeper.speak) == {(200, "tone@1")}
    try:
        changed = operator.run(code, key="tone@other")
        both.in_force(changed, Keeper.speak, (200, "tone@other"))
    finally:
        changed = operator.run(code, key="tone@1")
    both.in_force(changed, Keeper.speak, (200, "tone@1"))


def test_a_revoked_key(pair: Pair, operator: Console) -> None:
    secret = operator.run(ISSUE).result
    with ExitStack() as stack:
        both = Both(pair, secret, stack)
        assert both.all(Keeper.speak) == {(200, "tone@1")}
        revoked = operator.run(
            "from tenants.selectors import api_key_find\n"
            "from tenants.services import api_key_revoke\n"
            "api_key_revoke(key=api_key_find(prefix))",
            prefix=secret[: len("vh_") + 8],
        )
        both.in_force(revoked, Keeper.speak, (401, "invalid_api_key"))


def test_a_changed_tier(both: Both, operator: Console) -> None:
    code = (
        "from tenants.selectors import tier_find\n"
        "from tenants.services import tier_update\n"
        "tier_update(tier=tier_find('narrow'), **changes)"
    )

    def ask(keeper: Keeper) -> tuple[int, str]:
        return keeper.speak(text="ten words " * 5)

    assert both.all(ask) == {(200, "tone@1")}
    try:
        changed = operator.run(code, changes={"max_characters": 40})
        both.in_force(changed, ask, (400, "string_above_max_length"))
        changed = operator.run(code, changes={"allowed_models": ["late"]})
        both.in_force(changed, Keeper.speak, (403, "model_not_allowed"))
    finally:
        changed = operator.run(code, changes={"max_characters": 1000, "allowed_models": []})
    both.in_force(changed, ask, (200, "tone@1"))


def test_a_disabled_voice(both: Both, operator: Console) -> None:
    code = (
        "from dataclasses import replace\n"
        "from tts.models import Voice\n"
        "from tts.services import voice_deactivate, voice_update\n"
        "voice = Voice.objects.get(name='tone-b')\n"
    )

    def ask(keeper: Keeper) -> tuple[int, str]:
        return keeper.speak(voice="tone-b")

    assert both.all(ask) == {(200, "tone@1")}
    try:
        disabled = operator.run(code + "voice_deactivate(voice)")
        both.in_force(disabled, ask, (404, "voice_not_found"))
    finally:
        enabled = operator.run(
            code + "voice_update(voice, lambda draft: replace(draft, is_active=True))"
        )
    both.in_force(enabled, ask, (200, "tone@1"))


def test_changed_batching_settings(pair: Pair, operator: Console) -> None:
    code = (
        "from models_registry.batching import Batching\n"
        "from models_registry.services import version_batching_set\n"
        "version_batching_set('tone@other', Batching(slots, slots, 0))"
    )
    before = {beat.worker_id: beat.slots for beat in pair.beats()}
    try:
        changed = operator.run(code, slots=3)
        wanted = {worker_id: slots - 512 + 3 for worker_id, slots in before.items()}
        until(lambda: {beat.worker_id: beat.slots for beat in pair.beats()} == wanted)
        assert time.monotonic() - changed.at < IN_FORCE_SECONDS + BEAT_SECONDS
    finally:
        operator.run(code, slots=512)
    until(lambda: {beat.worker_id: beat.slots for beat in pair.beats()} == before)
