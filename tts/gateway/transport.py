"""Redis Streams as ordered, bounded-loss queues: one reader a stream, writers that coalesce.

A stream belongs to the process that reads it: that process makes it, renews
its expiry and deletes it. Writers add with NOMKSTREAM, so a write to a process
that is gone says so instead of making a stream that nobody reads.
"""

import asyncio
import random
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection
from typing import Any

import redis.asyncio
import structlog
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError, ResponseError

from tts.engine.traces import trace_of
from tts.gateway.wire import FRAME_FIELD, WireError, frame_decode, frames_encode

log = structlog.get_logger(__name__)

COMMAND_TIMEOUT = 2.0
"""Seconds after which a command that got no answer counts as failed."""
BLOCK_SECONDS = 2.0
"""How long one blocking read waits; its socket waits longer."""
READ_COUNT = 256
STREAM_TTL_MS = 10_000
"""Streams outlive their owner by at most this long."""
CANCEL_AGAIN_SECONDS = 1.0
BACKOFF_FIRST = 0.05
BACKOFF_MOST = 1.0

CONNECTION_ERRORS = (RedisError, OSError, asyncio.TimeoutError)


def client_derive(
    client: redis.asyncio.Redis, *, timeout: float, connections: int
) -> redis.asyncio.Redis:
    """A client of the same server with its own connections, which never repeats a command.

    A repeated XADD would be a second message, so retries are the caller's.
    """
    pool = client.connection_pool
    options: dict[str, Any] = dict(pool.connection_kwargs)
    options.update(
        socket_timeout=timeout,
        socket_connect_timeout=COMMAND_TIMEOUT,
        retry=Retry(NoBackoff(), 0),
    )
    return redis.asyncio.Redis.from_pool(
        redis.asyncio.ConnectionPool(
            connection_class=pool.connection_class, max_connections=connections, **options
        )
    )


async def stream_create(client: redis.asyncio.Redis, key: str) -> None:
    """Make the empty stream `key`, without anything that an earlier owner left in it."""
    pipeline = client.pipeline(transaction=True)
    pipeline.delete(key)
    # Redis makes an empty stream only with a group; the stream stays when the group goes.
    pipeline.xgroup_create(key, "owner", id="0", mkstream=True)
    pipeline.xgroup_destroy(key, "owner")
    pipeline.pexpire(key, STREAM_TTL_MS)
    await pipeline.execute()


async def tasks_end(tasks: Collection["asyncio.Task[Any]"]) -> None:
    """Cancel tasks and wait for their end.

    A cancellation that meets a timeout inside a library can get lost, so it is
    repeated.
    """
    while pending := [task for task in tasks if not task.done()]:
        for task in pending:
            task.cancel()
        await asyncio.wait(pending, timeout=CANCEL_AGAIN_SECONDS)


class Backoff:
    """Delays between attempts to reach Redis: doubling, with jitter, up to a second."""

    def __init__(self) -> None:
        self._delay = BACKOFF_FIRST

    def reset(self) -> None:
        """An attempt succeeded."""
        self._delay = BACKOFF_FIRST

    async def wait(self) -> None:
        """Wait before the next attempt."""
        delay = self._delay * random.uniform(0.5, 1.0)  # noqa: S311 - jitter, not a secret
        self._delay = min(self._delay * 2, BACKOFF_MOST)
        await asyncio.sleep(delay)


async def run_again(name: str, part: Callable[[], Awaitable[None]]) -> None:
    """Run a part of a process for good: one that fails is logged, and begins again.

    For what nobody foresaw. Without it the others would go on, and every request would wait for
    what no longer runs.
    """
    backoff = Backoff()
    while True:
        try:
            return await part()
        except Exception as error:  # noqa: BLE001 - logged, and tried again
            log.error("part_failed", part=name, trace=trace_of(error))
        await backoff.wait()


class StreamReader:
    """Reads one stream, hands every message to `handle`, and deletes what was handled.

    Reading always begins at 0: what is handled is deleted in the round trip that
    reads on, so no entry is skipped and none is read twice, whatever ids a
    restarted server hands out. An entry whose deletion was not confirmed is
    remembered by its id and passed over.
    """

    def __init__(
        self, client: redis.asyncio.Redis, key: str, handle: Callable[[bytes], None]
    ) -> None:
        self._client = client_derive(client, timeout=BLOCK_SECONDS + 3.0, connections=1)
        self._key = key
        self._handle = handle
        self._handled: set[bytes] = set()

    async def run(self) -> None:
        """Read until cancelled; reconnects by itself."""
        backoff = Backoff()
        try:
            while True:
                try:
                    entries = await self._read()
                except CONNECTION_ERRORS as error:
                    log.warning("stream_read_failed", stream=self._key, error=repr(error))
                    await backoff.wait()
                    continue
                backoff.reset()
                self._dispatch(entries)
        finally:
            await self._client.aclose()

    async def _read(self) -> list[tuple[bytes, dict[bytes, bytes]]]:
        pipeline = self._client.pipeline(transaction=False)
        deleting = tuple(self._handled)
        if deleting:
            pipeline.xdel(self._key, *deleting)
        pipeline.xread({self._key: "0"}, count=READ_COUNT, block=int(BLOCK_SECONDS * 1000))
        results: list[Any] = await pipeline.execute(raise_on_error=False)
        if isinstance(results[-1], ResponseError):
            raise results[-1]
        if deleting and not isinstance(results[0], ResponseError):
            self._handled.difference_update(deleting)
        reply = results[-1]
        if not reply:
            return []
        # RESP3 answers with a mapping, RESP2 with pairs.
        if isinstance(reply, dict):
            return [entry for batch in next(iter(reply.values())) for entry in batch]
        return list(reply[0][1])

    def _dispatch(self, entries: list[tuple[bytes, dict[bytes, bytes]]]) -> None:
        for entry_id, fields in entries:
            if entry_id in self._handled:
                continue
            self._handled.add(entry_id)
            try:
                messages = frame_decode(fields.get(FRAME_FIELD, b""))
            except WireError as error:
                log.warning("frame_dropped", stream=self._key, error=str(error))
                continue
            for message in messages:
                try:
                    self._handle(message)
                except Exception as error:  # noqa: BLE001 - it must not end the reading of others
                    trace = trace_of(error)
                    log.error("message_handler_failed", stream=self._key, trace=trace)


class StreamWriter:
    """Sends messages to any number of streams: what waits goes out in one pipeline.

    While one pipeline is under way the next fills, so the number of round trips
    adapts to the load and a single message never waits for company. Order within
    a stream is kept. A pipeline that failed is sent again, so a message may
    arrive twice; readers tell by its content. `on_gone(key)` is called when a
    stream is no longer there.
    """

    def __init__(
        self,
        client: redis.asyncio.Redis,
        on_gone: Callable[[str], None],
    ) -> None:
        self._client = client_derive(client, timeout=COMMAND_TIMEOUT, connections=2)
        self._on_gone = on_gone
        self._boxes: defaultdict[str, list[bytes]] = defaultdict(list)
        self._sending: dict[str, list[bytes]] = {}
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()

    def post(self, key: str, message: bytes) -> None:
        """Queue a message; returns at once."""
        self._boxes[key].append(message)
        self._idle.clear()
        self._wake.set()

    def discard(self, key: str) -> None:
        """Forget what waits for a stream that nobody reads any more."""
        self._boxes.pop(key, None)
        self._sending.pop(key, None)

    async def flush(self, timeout: float) -> None:
        """Wait until everything has been sent, at most `timeout` seconds."""
        try:
            async with asyncio.timeout(timeout):
                await self._idle.wait()
        except TimeoutError:
            log.warning("stream_flush_timeout", waiting=sum(map(len, self._boxes.values())))

    async def run(self) -> None:
        """Send until cancelled; reconnects by itself."""
        backoff = Backoff()
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                while self._boxes or self._sending:
                    self._take()
                    try:
                        await self._send()
                    except CONNECTION_ERRORS as error:
                        log.warning("stream_write_failed", error=repr(error))
                        await backoff.wait()
                    else:
                        backoff.reset()
                self._idle.set()
        finally:
            await self._client.aclose()

    def _take(self) -> None:
        """Move what waits behind what is still being sent."""
        for key, messages in self._boxes.items():
            self._sending.setdefault(key, []).extend(messages)
        self._boxes.clear()

    async def _send(self) -> None:
        pipeline = self._client.pipeline(transaction=False)
        keys: list[str] = []
        for key, messages in self._sending.items():
            for frame in frames_encode(messages):
                pipeline.xadd(key, {FRAME_FIELD: frame}, nomkstream=True)
                keys.append(key)
        results = await pipeline.execute(raise_on_error=False)
        self._sending = {}
        gone = {key for key, result in zip(keys, results, strict=True) if result is None}
        for key, result in zip(keys, results, strict=True):
            if isinstance(result, Exception):
                log.error("stream_write_refused", stream=key, error=str(result))
                gone.add(key)
        for key in gone:
            self._on_gone(key)
