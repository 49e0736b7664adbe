"""Redis clients: one per event loop, one for synchronous code."""

import asyncio
import functools
from collections.abc import Iterable
from typing import Any
from weakref import WeakKeyDictionary

import redis
import redis.asyncio
from django.conf import settings
from redis.asyncio.connection import AbstractConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

# A server that hangs must fail a request, not hold it; blocking reads have clients of their own.
ANSWER_SECONDS = 5.0
CONNECTIONS = 32
"""How many one event loop's client opens at most: a command takes a millisecond, and Redis
carries them out one after the other, however many connections bring them."""

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
        """Read within `socket_timeout` seconds; raises redis-py's TimeoutError.

        With a `timeout` of its own it answers None when that is over, as redis-py's does.
        """
        read = super().read_response  # type: ignore[misc]  # a mixin
        if timeout is not None:
            return await read(*args, timeout=timeout, **kwargs)
        try:
            # Cancelled, the library disconnects: a late answer is not the next command's.
            async with asyncio.timeout(self._answer_seconds):
                return await read(*args, **kwargs)
        except TimeoutError as error:
            raise redis.exceptions.TimeoutError("Timeout reading from socket") from error


class BoundedPool(redis.asyncio.ConnectionPool):
    """A pool whose callers wait for a connection while `max_connections` are in use.

    A pool keeps what it has opened, so one without a bound keeps the most that were ever
    needed at once. The library's own blocking pool loses a connection for good when
    whoever gives one back is cancelled while another holds its lock.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._permits = asyncio.Semaphore(self.max_connections)

    async def get_connection(
        self, command_name: Any = None, *keys: Any, **options: Any
    ) -> AbstractConnection:
        """A connected connection; raises redis-py's TimeoutError when none gets free in time."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await self._permits.acquire()
        except TimeoutError as error:
            raise redis.exceptions.TimeoutError("All connections are in use") from error
        # Where it fails, it has given its connection back, and with it the permit.
        taken: AbstractConnection = await super().get_connection()  # type: ignore[no-untyped-call]  # redis-py
        return taken

    async def release(self, connection: AbstractConnection) -> None:
        """Give a connection back."""
        was_taken = connection in self._in_use_connections
        try:
            await super().release(connection)
        finally:
            if was_taken:
                self._permits.release()


def redis_async_for(url: str) -> redis.asyncio.Redis:
    """A client of the server at `url`, for whoever closes it. Replies are bytes."""
    pool = BoundedPool.from_url(
        url,
        max_connections=CONNECTIONS,
        socket_timeout=ANSWER_SECONDS,
        socket_connect_timeout=ANSWER_SECONDS,
        # Once, for a connection that a restart has closed; one that hangs has been waited for.
        retry=Retry(NoBackoff(), 1, supported_errors=(redis.exceptions.ConnectionError,)),
    )
    # The URL's scheme has chosen the class: TCP, TLS or a Unix socket.
    own = pool.connection_class
    pool.connection_class = type(own.__name__, (CancellableSend, own), {})
    return redis.asyncio.Redis.from_pool(pool)


def redis_async() -> redis.asyncio.Redis:
    """The client of the running event loop. Replies are bytes.

    Connections belong to the loop that made them, so each loop has its own client.
    """
    loop = asyncio.get_running_loop()
    client = _clients.get(loop)
    if client is None:
        client = redis_async_for(settings.REDIS_URL)
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
