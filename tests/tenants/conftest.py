"""A Redis server of the test run's own, and tenants to test with."""

import importlib
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
import redis
import redis.asyncio
from django.apps import apps
from pytest_django.fixtures import Settings

from coordination.connection import redis_async_close
from coordination.epoch import ConfigCache
from tenants.models import ApiKey, QualityTier, Tenant
from tenants.services import api_key_issue, tenant_create
from tenants.touches import KEY_TOUCHES
from tests.redis_server import redis_running
from tests.tenants.callers import Clock


@pytest.fixture(scope="session")
def redis_server() -> Iterator[str]:
    """The URL of a real server on a private Unix socket, empty at first."""
    with redis_running() as server:
        yield server.url


@pytest.fixture
def redis_url(redis_server: str, settings: Settings) -> str:
    """The server, emptied, as the one that the platform uses."""
    settings.REDIS_URL = redis_server
    with redis.Redis.from_url(redis_server) as client:
        client.flushdb()
    return redis_server


@pytest.fixture
async def redis_loop(redis_url: str) -> AsyncIterator[redis.asyncio.Redis]:
    """A client of the test's event loop."""
    client = redis.asyncio.Redis.from_url(redis_url)
    yield client
    await client.aclose()
    await redis_async_close()


@pytest.fixture
def seeded(transactional_db: None, redis_url: str) -> Iterator[None]:
    """A database that other threads see, with the tiers that the migration makes."""
    importlib.import_module("tenants.migrations.0002_seed_tiers").tiers_seed(apps, None)
    yield
    # A write still under way would lock the tables that are emptied next.
    KEY_TOUCHES.drain()


@pytest.fixture
def tenant(seeded: None) -> Tenant:
    return tenant_create(name="Acme")


@pytest.fixture
def issue(tenant: Tenant) -> Callable[..., tuple[ApiKey, str]]:
    """Issue a key: tier by name, the rest as the service takes it."""

    def issue(tier: str = "standard", **fields: Any) -> tuple[ApiKey, str]:
        fields.setdefault("tenant", tenant)
        return api_key_issue(tier=QualityTier.objects.get(name=tier), **fields)

    return issue


@pytest.fixture
def cache(redis_loop: redis.asyncio.Redis) -> ConfigCache:
    return ConfigCache()


@pytest.fixture
def clock() -> Clock:
    return Clock()
