"""When each key was last used: written in a thread of its own, at most once a minute a key."""

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as futures_wait
from datetime import datetime, timedelta

from django.db import DatabaseError, connections
from django.db.models import Q

from tenants.models import ApiKey

logger = logging.getLogger(__name__)
INTERVAL = 60.0
_MAX_KEYS = 10_000


def last_used_write(key_id: str, now: datetime) -> None:
    """Store the time, unless another process did within the last minute.

    Runs in the writer's thread; a database that is busy costs one minute's
    precision and nothing else.
    """
    stale = Q(last_used_at__isnull=True) | Q(last_used_at__lte=now - timedelta(seconds=INTERVAL))
    try:
        ApiKey.objects.filter(stale, pk=key_id).update(last_used_at=now)
    except DatabaseError:
        logger.warning("could not store when a key was last used", exc_info=True)
    finally:
        connections.close_all()


class KeyTouches:
    """Remembers in this process which keys were written lately; never waits for the database."""

    def __init__(
        self,
        *,
        write: Callable[[str, datetime], None] = last_used_write,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._write = write
        self._clock = clock
        self._written: dict[str, float] = {}
        self._executor: ThreadPoolExecutor | None = None
        self._pending: set[Future[None]] = set()

    def touch(self, key_id: str, now: datetime) -> None:
        """Note that the key was used at `now`; returns at once."""
        moment = self._clock()
        if moment - self._written.get(key_id, float("-inf")) < INTERVAL:
            return
        if len(self._written) >= _MAX_KEYS:
            self._written.clear()
        self._written[key_id] = moment
        if self._executor is None:
            # Made at first use: a thread would not survive the fork of a Celery worker.
            self._executor = ThreadPoolExecutor(1, thread_name_prefix="key-touch")
        future = self._executor.submit(self._write, key_id, now)
        self._pending.add(future)
        future.add_done_callback(self._pending.discard)

    def drain(self, timeout: float | None = None) -> None:
        """Wait for what is being written (shutdown, tests)."""
        futures_wait(set(self._pending), timeout=timeout)


KEY_TOUCHES = KeyTouches()
"""The process's own."""
