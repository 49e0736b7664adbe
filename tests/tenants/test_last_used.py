"""When a key was last used is written beside the request, at most once a minute."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from asgiref.sync import sync_to_async
from django.db import DatabaseError

from coordination.epoch import ConfigCache
from tenants.models import ApiKey
from tenants.selectors import principal_authenticate
from tenants.touches import KeyTouches, last_used_write

Issue = Callable[..., tuple[ApiKey, str]]
NOW = datetime(2030, 1, 1, tzinfo=UTC)


class Writer:
    """Records what is written, and in which thread."""

    def __init__(self) -> None:
        self.written: list[tuple[str, datetime]] = []
        self.threads: set[int] = set()

    def __call__(self, key_id: str, now: datetime) -> None:
        self.written.append((key_id, now))
        self.threads.add(threading.get_ident())


async def test_use_of_a_key_is_stored(issue: Issue, cache: ConfigCache) -> None:
    key, secret = await sync_to_async(issue)()
    touches = KeyTouches()
    await principal_authenticate(secret, cache=cache, now=NOW, touches=touches)
    await sync_to_async(touches.drain)()
    await key.arefresh_from_db()
    assert key.last_used_at == NOW


def test_a_key_is_written_once_a_minute_off_the_caller_s_thread() -> None:
    writer, moment = Writer(), [0.0]
    touches = KeyTouches(write=writer, clock=lambda: moment[0])
    for second in (0, 1, 59.9, 60, 61, 120):
        moment[0] = float(second)
        touches.touch("a", NOW)
    touches.touch("b", NOW)
    touches.drain()
    assert [key for key, _ in writer.written] == ["a", "a", "a", "b"]
    assert threading.get_ident() not in writer.threads


def test_a_slow_database_keeps_nobody_waiting() -> None:
    release = threading.Event()

    def write(*_: object) -> None:
        assert release.wait(10)

    touches = KeyTouches(write=write)
    touches.touch("a", NOW)  # would not return if it waited for the write
    touches.touch("b", NOW)
    release.set()
    touches.drain()


def test_processes_together_write_once_a_minute(issue: Issue) -> None:
    key, _ = issue()
    for seconds, expected in ((0, 0), (59, 0), (60, 60)):
        last_used_write(str(key.pk), NOW + timedelta(seconds=seconds))
        key.refresh_from_db()
        assert key.last_used_at == NOW + timedelta(seconds=expected)


def test_busy_database_costs_a_log_line(
    issue: Issue, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def busy(*_: object, **__: object) -> None:
        raise DatabaseError("locked")

    key, secret = issue()
    monkeypatch.setattr("tenants.touches.ApiKey.objects.filter", busy)
    last_used_write(str(key.pk), NOW)
    assert "last used" in caplog.text
    assert secret not in caplog.text
