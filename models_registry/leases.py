"""Route leases: which requests a version still speaks, counted over all processes.

Each version has one sorted set in Redis, request ids scored by expiry. A lease
lives 30 s unless its owner renews it, so that a dead process cannot hold a
version for ever. A set without members does not exist: nothing stays behind.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Collection

import redis.asyncio
from redis.exceptions import RedisError

from coordination.connection import redis_async
from coordination.keys import route_lease

LEASE_SECONDS = 30.0


class RouteLeases:
    """Acquire, renew, release and count leases. Errors of Redis (RedisError) pass through.

    `clock` is wall time in seconds, since machines compare expiries; clocks
    that differ by a second or two change nothing of note in 30.
    """

    def __init__(
        self,
        *,
        client: Callable[[], redis.asyncio.Redis] = redis_async,
        clock: Callable[[], float] = time.time,
        lifetime: float = LEASE_SECONDS,
    ) -> None:
        self._client = client
        self._clock = clock
        self._lifetime = lifetime
        self._releasing: set[asyncio.Task[None]] = set()

    async def acquire(self, version: str, request_id: str) -> None:
        """Count `request_id` on `version` until it is released or 30 s have passed.

        When it fails or is cancelled, what may have reached Redis is taken back.
        """
        try:
            await self._put(version, [request_id])
        except BaseException:
            await self._take_back(version, request_id)
            raise

    async def renew(self, version: str, request_ids: Collection[str]) -> frozenset[str]:
        """Give leases 30 s from now, in one round trip; returns those that no longer exist.

        A lost lease is not made again, since a renewal may cross a release; the
        owner that still speaks acquires anew.
        """
        if not request_ids:
            return frozenset()
        async with self._client().pipeline(transaction=True) as pipe:
            self._write(pipe, version, request_ids, only_existing=True)
            for request_id in request_ids:
                pipe.zscore(route_lease(version), request_id)
            replies = await pipe.execute()
        scores = replies[-len(request_ids) :]
        return frozenset(
            request_id
            for request_id, score in zip(request_ids, scores, strict=True)
            if score is None
        )

    async def release(self, version: str, request_id: str) -> None:
        """The request is over; releasing twice, or what never was, does nothing.

        The command is finished even when the caller is cancelled meanwhile.
        """
        task = asyncio.ensure_future(self._remove(version, request_id))
        self._releasing.add(task)
        task.add_done_callback(self._releasing.discard)
        await asyncio.shield(task)

    async def count(self, version: str) -> int:
        """How many requests the version still speaks; leases that ran out are removed."""
        key = route_lease(version)
        async with self._client().pipeline(transaction=True) as pipe:
            pipe.zremrangebyscore(key, "-inf", self._clock())
            pipe.zcard(key)
            replies = await pipe.execute()
        return int(replies[-1])

    async def _put(self, version: str, request_ids: Collection[str]) -> None:
        async with self._client().pipeline(transaction=True) as pipe:
            self._write(pipe, version, request_ids, only_existing=False)
            await pipe.execute()

    def _write(
        self,
        pipe: "redis.asyncio.client.Pipeline",
        version: str,
        request_ids: Collection[str],
        *,
        only_existing: bool,
    ) -> None:
        key = route_lease(version)
        expiry = self._clock() + self._lifetime
        pipe.zadd(key, dict.fromkeys(request_ids, expiry), xx=only_existing)
        # The set itself ends with its last lease, should nobody ever count again.
        pipe.pexpire(key, int(self._lifetime * 1000) + 1000)

    async def _remove(self, version: str, request_id: str) -> None:
        await self._client().zrem(route_lease(version), request_id)

    async def _take_back(self, version: str, request_id: str) -> None:
        # Where Redis cannot be reached the lease runs out by itself.
        with contextlib.suppress(RedisError, OSError):
            await self.release(version, request_id)
