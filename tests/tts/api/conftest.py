"""The API on a real Redis and a real database, with a tenant, a key, a model and voices."""

import importlib
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest
import redis
from asgiref.sync import sync_to_async
from django.apps import apps
from django.test import AsyncClient
from pytest_django import Settings

from coordination.connection import redis_async_close
from coordination.epoch import ConfigCache
from models_registry.services import route_create, route_set
from tenants.models import QualityTier
from tenants.services import api_key_issue, tenant_create
from tenants.touches import KEY_TOUCHES
from tests.models_registry.registering import version_of
from tests.redis_server import redis_running
from tests.tts.speech.speech_fakes import FakeGateway, FakeLeases, FakeLimiter
from tts.gateway.base import SpeechGateway
from tts.runtime import SpeechRuntime, runtime_configure, runtime_stop
from tts.services import voices_sync
from tts.speech.directory import PlatformDirectory
from tts.speech.service import SpeechParts, SpeechService
from tts.speech.splitter import PlatformSplitter
from tts.voice_catalogue import VoiceSeed
from voicehost.selectors import catalogue_is_public

VOICES = (
    VoiceSeed("af_heart", "Heart", ("en",), "zf_xiaoxiao", 3.0, ("alloy",), "Hello."),
    VoiceSeed("zf_xiaoxiao", "晓晓", ("zh",), "af_heart", -3.0, (), "你好。"),
)


@pytest.fixture(scope="session")
def api_redis() -> Iterator[str]:
    """The URL of a server for this folder's tests."""
    with redis_running() as server:
        yield server.url


@dataclass
class Api:
    """A client with its key."""

    client: AsyncClient
    key: str

    async def get(self, path: str, *, key: str | None = None) -> Any:
        """GET with the key; an empty one sends none."""
        return await self.client.get(path, headers=self._headers(key))

    async def post(
        self,
        path: str,
        body: object,
        *,
        key: str | None = None,
        content_type: str = "application/json",
        **headers: str,
    ) -> Any:
        """POST with the key, as JSON unless `content_type` says otherwise."""
        return await self.client.post(
            path, data=body, content_type=content_type, headers=self._headers(key) | headers
        )

    async def delete(self, path: str, *, key: str | None = None) -> Any:
        """DELETE with the key."""
        return await self.client.delete(path, headers=self._headers(key))

    def _headers(self, key: str | None) -> dict[str, str]:
        secret = self.key if key is None else key
        return {"Authorization": f"Bearer {secret}"} if secret else {}


@pytest.fixture
def gateway() -> SpeechGateway:
    """What speaks; modules that listen have their own."""
    return FakeGateway()


@pytest.fixture
async def api(
    transactional_db: None, api_redis: str, settings: Settings, gateway: SpeechGateway
) -> AsyncIterator[Api]:
    """A model `demo` on the tone engine, two voices, and a key that may issue tokens."""
    settings.REDIS_URL = api_redis
    settings.WHITENOISE_AUTOREFRESH = True
    with redis.Redis.from_url(api_redis) as client:
        client.flushdb()
    key = await sync_to_async(_prepare)()
    executor = ThreadPoolExecutor(1)

    def build() -> SpeechRuntime:
        cache = ConfigCache()
        service = SpeechService(
            SpeechParts(
                owner="web-1",
                gateway=gateway,
                directory=PlatformDirectory(cache),
                limiter=FakeLimiter(),
                leases=FakeLeases(),
                splitter=PlatformSplitter(),
                text_executor=executor,
                encode_executor=executor,
            )
        )

        async def is_public() -> bool:
            return await catalogue_is_public(cache)

        return SpeechRuntime(service, cache, is_public, redis_async_close)

    runtime_configure(build)
    yield Api(AsyncClient(), key)
    await runtime_stop()
    executor.shutdown()
    # A write still under way would lock the tables that are emptied next.
    await sync_to_async(KEY_TOUCHES.drain)()


def _prepare() -> str:
    importlib.import_module("tenants.migrations.0002_seed_tiers").tiers_seed(apps, None)
    version = version_of("1")
    route_create(name="demo", description="A demonstration")
    route_set("demo", {version.key: 1}, actor="test")
    voices_sync("tone", VOICES)
    tenant = tenant_create(name="Acme")
    _, secret = api_key_issue(
        tenant=tenant,
        tier=QualityTier.objects.get(name="standard"),
        scopes=["speech", "voices", "tokens"],
    )
    return secret
