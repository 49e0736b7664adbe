"""Celery's broker is the server and database of REDIS_URL, over a socket too."""

from types import SimpleNamespace
from typing import Any

import pytest
from kombu import Connection
from kombu.transport.redis import Channel

from voicehost.addresses import celery_broker_url


def parameters(url: str) -> dict[str, Any]:
    """What the library would connect with."""
    channel: Any = Channel.__new__(Channel)
    channel.connection = SimpleNamespace(client=Connection(url), default_port=6379)
    found: dict[str, Any] = channel._connparams()
    return found


@pytest.mark.parametrize(
    ("url", "account"),
    [
        ("unix:///run/redis.sock?db=3", (None, None)),
        ("unix:///run/redis.sock?db=3&password=p%40w", (None, "p@w")),
        ("unix://ada:p%2Fw@/run/redis.sock?db=3", ("ada", "p/w")),
    ],
)
def test_a_socket(url: str, account: tuple[str | None, str | None]) -> None:
    found = parameters(celery_broker_url(url))
    assert (found["path"], found["db"]) == ("/run/redis.sock", 3)
    assert (found["username"] or None, found["password"]) == account


def test_a_socket_without_a_database() -> None:
    found = parameters(celery_broker_url("unix:///run/redis.sock"))
    assert (found["path"], found["db"]) == ("/run/redis.sock", 0)


@pytest.mark.parametrize("url", ["redis://:pw@redis.example.com:6380/7", "rediss://h/1"])
def test_a_server_on_a_port(url: str) -> None:
    assert celery_broker_url(url) == url
