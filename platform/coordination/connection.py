"""Redis clients: one per event loop, one for synchronous code."""

import asyncio
import functools
from weakref import WeakKeyDictionary

import redis
import redis.asyncio
from django.conf import settings

# A server that hangs must fail a request, not hold it; blocking reads have clients of their own.
ANSWER_SECONDS = 5.0

_clients: "WeakKeyDictionary[asyncio.AbstractEventLoop, redis.asyncio.Redis]" = WeakKeyDictionary()


def redis_async() -> redis.asyncio.Redis:
    """The client of the running event loop. Replies are bytes.

    Connections belong to the loop that made them, so each loop has its own client.
    """
    loop = asyncio.get_running_loop()
    client = _clients.get(loop)
    if client is None:
        client = redis.asyncio.Redis.from_url(
            settings.REDIS_URL,
            socket_timeout=ANSWER_SECONDS,
            socket_connect_timeout=ANSWER_SECONDS,
        )
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
