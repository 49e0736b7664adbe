"""The platform is ready when some worker takes requests for every version with traffic."""

from collections.abc import AsyncIterator, Iterator

import pytest
import redis
from asgiref.sync import sync_to_async
from django.test import AsyncClient
from pytest_django import Settings

from coordination import keys
from coordination.connection import redis_async_close
from models_registry.services import route_create, route_set
from tests.models_registry.registering import version_of
from tests.redis_server import redis_running
from tts.gateway.heartbeat import WorkerBeat, beat_encode

pytestmark = pytest.mark.django_db(transaction=True)

BOTH = ("demo@1", "demo@2")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The URL of a Redis for these tests."""
    with redis_running() as running:
        yield running.url


@pytest.fixture
async def connection(server: str, settings: Settings) -> AsyncIterator[redis.Redis]:
    """The Redis of the platform, empty."""
    settings.REDIS_URL = server
    with redis.Redis.from_url(server) as client:
        client.flushall()
        yield client
    await redis_async_close()


def split(**weights: int) -> None:
    """The route tts-1 with so much traffic for the versions of demo."""
    for label in ("1", "2"):
        version_of(label)
    route_create(name="tts-1")
    route_set("tts-1", {f"demo@{name[1:]}": weight for name, weight in weights.items()}, "test")


def beats(client: redis.Redis, *workers: WorkerBeat) -> None:
    for worker in workers:
        client.sadd(keys.WORKERS, worker.worker_id)
        client.set(keys.worker_beat(worker.worker_id), beat_encode(worker))


async def asked() -> tuple[int, str, str]:
    """The status, what the whole says, and what it says about speech."""
    response = await AsyncClient().get("/readyz")
    body = response.json()
    return response.status_code, body["status"], body["checks"]["speech"]


async def test_every_version_with_traffic_is_with_some_worker(connection: redis.Redis) -> None:
    await sync_to_async(split)(v1=75, v2=25)
    one = WorkerBeat("w1", "one", 1, versions=("demo@1",))
    other = WorkerBeat("w2", "two", 1, versions=("demo@2",))
    beats(connection, one, other)
    assert await asked() == (200, "ready", "ok")


async def test_a_version_without_traffic_is_not_missed(connection: redis.Redis) -> None:
    await sync_to_async(split)(v1=100)
    beats(connection, WorkerBeat("w1", "one", 1, versions=("demo@1",)))
    assert await asked() == (200, "ready", "ok")


async def test_no_route(connection: redis.Redis) -> None:
    beats(connection, WorkerBeat("w1", "one", 1, versions=BOTH))
    assert await asked() == (503, "not ready", "no route sends traffic to any version")


async def test_no_worker(connection: redis.Redis) -> None:
    await sync_to_async(split)(v1=100)
    connection.sadd(keys.WORKERS, "dead")
    assert await asked() == (503, "not ready", "no synthesis worker is running")


@pytest.mark.parametrize(
    "worker",
    [
        pytest.param(WorkerBeat("w1", "one", 1, versions=BOTH[:1], loading=BOTH[1:]), id="loading"),
        pytest.param(
            WorkerBeat("w1", "one", 1, versions=BOTH[:1], failed={"demo@2": "out of memory"}),
            id="failed",
        ),
    ],
)
async def test_a_version_that_cannot_be_spoken_is_named(
    connection: redis.Redis, worker: WorkerBeat
) -> None:
    await sync_to_async(split)(v1=75, v2=25)
    beats(connection, worker)
    assert await asked() == (503, "not ready", "no worker has demo@2 ready")


async def test_a_worker_that_leaves_speaks_nothing_new(connection: redis.Redis) -> None:
    await sync_to_async(split)(v1=75, v2=25)
    leaving = WorkerBeat("w1", "one", 1, versions=BOTH, draining=True)
    beats(connection, leaving)
    assert await asked() == (503, "not ready", "all synthesis workers are stopping")
    beats(connection, WorkerBeat("w2", "two", 1, versions=BOTH[:1]))
    assert await asked() == (503, "not ready", "no worker has demo@2 ready")


async def test_what_memory_has_no_room_for_is_told_and_is_no_fault(
    connection: redis.Redis,
) -> None:
    await sync_to_async(split)(v1=50, v2=50)
    beats(connection, WorkerBeat("w1", "i", 1, versions=("demo@1",), cold=("demo@2",)))

    status, whole, speech = await asked()

    assert (status, whole) == (200, "ready")
    assert speech == "ok; cold, for want of memory: demo@2"
