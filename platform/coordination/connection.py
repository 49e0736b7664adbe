"""Redis clients: one per event loop, one for synchronous code."""

import asyncio
import functools
from collections.abc import Iterable
from typing import Any
from weakref import WeakKeyDictionary

import redis
import redis.asyncio
from django.conf import settings

# A server that hangs must fail a request, not hold it; blocking reads have clients of their own.
ANSWER_SECONDS = 5.0

_clients: "WeakKeyDictionary[asyncio.AbstractEventLoop, redis.asyncio.Redis]" = WeakKeyDictionary()


class CancellableSend:
    """A connection whose commands can be cancelled at every moment; mixed into redis-py's own.

    With a `socket_timeout` redis-py sends through `asyncio.wait_for`, which before
    Python 3.12 swallows a cancellation that comes in the very step in which the
    sending ends: a listener who left would be spoken to until the end.
    """

    def __init__(self, *args: Any, socket_timeout: float | None = None, **kwargs: Any) -> None:
        # Without one of its own the library does not use `wait_for`.
        super().__init__(*args, socket_timeout=None, **kwargs)  # type: ignore[call-arg]  # a mixin
        self._answer_seconds = socket_timeout

    async def send_packed_command(
        self, command: bytes | str | Iterable[bytes], check_health: bool = True
    ) -> None:
        """Send within `socket_timeout` seconds; raises redis-py's TimeoutError."""
        try:
            async with asyncio.timeout(self._answer_seconds):
                await super().send_packed_command(command, check_health)  # type: ignore[misc]  # a mixin
        except TimeoutError as error:
            raise redis.exceptions.TimeoutError("Timeout writing to socket") from error

    async def read_response(self, *args: Any, timeout: float | None = None, **kwargs: Any) -> Any:
        """Read within `socket_timeout` seconds unless told otherwise."""
        seconds = self._answer_seconds if timeout is None else timeout
        return await super().read_response(*args, timeout=seconds, **kwargs)  # type: ignore[misc]  # a mixin


def _pool_for(url: str) -> redis.asyncio.ConnectionPool:
    pool = redis.asyncio.ConnectionPool.from_url(
        url, socket_timeout=ANSWER_SECONDS, socket_connect_timeout=ANSWER_SECONDS
    )
    # The URL's scheme has chosen the class: TCP, TLS or a Unix socket.
    own = pool.connection_class
    pool.connection_class = type(own.__name__, (CancellableSend, own), {})
    return pool


def redis_async() -> redis.asyncio.Redis:
    """The client of the running event loop. Replies are bytes.

    Connections belong to the loop that made them, so each loop has its own client.
    """
    loop = asyncio.get_running_loop()
    client = _clients.get(loop)
    if client is None:
        client = redis.asyncio.Redis.from_pool(_pool_for(settings.REDIS_URL))
        _clients[loop] = client
    return client


async def redis_async_close() -> None:
    """Close the running loop's client, if it has one."""
    client = _clients.pop(asyncio.get_running_loop(), None)
    if client is not None:
        await client.aclose()


@functools.cache
def _client_for(url: str) -> redis.Redis:
    return redis.Redis.from_url(
        url, socket_timeout=ANSWER_SECONDS, socket_connect_timeout=ANSWER_SECONDS
    )


def redis_sync() -> redis.Redis:
    """The client for synchronous code: commands, admin, Celery. Replies are bytes."""
    return _client_for(settings.REDIS_URL)
