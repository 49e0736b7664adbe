"""The admin's first page: for those who may see it, and also when something is down."""

from collections.abc import Iterator

import pytest
import redis
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from coordination import keys
from models_registry.services import route_create, route_set
from tests.models_registry.registering import version_of
from tests.redis_server import redis_running
from tts.gateway.heartbeat import WorkerBeat, beat_encode

NOWHERE = "redis://127.0.0.1:1"


@pytest.fixture(autouse=True)
def no_collected_static_files(settings: Settings) -> None:
    settings.WHITENOISE_AUTOREFRESH = True


@pytest.fixture
def connection(settings: Settings) -> Iterator[redis.Redis]:
    """A Redis of the test's own, which the admin uses."""
    with redis_running() as server, redis.Redis.from_url(server.url) as client:
        settings.REDIS_URL = server.url
        yield client


@pytest.fixture
def route(db: None, settings: Settings) -> None:
    """The route tts-1, split between demo@1 and demo@2."""
    version_of("1")
    version_of("2")
    route_create(name="tts-1")
    route_set("tts-1", {"demo@1": 75, "demo@2": 25}, "test")


def overview(client: Client) -> str:
    answer = client.get(reverse("admin:index"))
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def test_split_and_workers_are_shown(
    connection: redis.Redis, route: None, admin_client: Client
) -> None:
    beat = WorkerBeat("w1", "one", 1, versions=("demo@1",), loading=("demo@2",), slots=8, active=3)
    connection.sadd(keys.WORKERS, "w1")
    connection.set(keys.worker_beat("w1"), beat_encode(beat))
    shown = overview(admin_client)
    assert "demo@1 75 %</span>" in shown
    assert "demo@2 25 % <" in shown
    assert shown.count("no worker has it") == 1
    assert "demo@1, demo@2 (loading)" in shown
    assert "3 of 8" in shown


def test_no_worker_is_said(connection: redis.Redis, admin_client: Client) -> None:
    connection.sadd(keys.WORKERS, "dead")
    assert "No worker is alive" in overview(admin_client)


def test_page_opens_without_redis(settings: Settings, route: None, admin_client: Client) -> None:
    settings.REDIS_URL = NOWHERE
    shown = overview(admin_client)
    assert "Redis does not answer" in shown
    assert "tts-1" in shown
    assert "no worker has it" not in shown


@pytest.mark.django_db
def test_who_may_see_nothing_is_shown_links_only(client: Client, settings: Settings) -> None:
    settings.REDIS_URL = NOWHERE
    client.force_login(User.objects.create_user("nobody", is_staff=True))
    shown = overview(client)
    assert "API documentation" in shown
    for hidden in ("Live API keys", "Synthesis workers", "Latest changes", "/admin/tenants/"):
        assert hidden not in shown
