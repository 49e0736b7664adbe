"""The gateway over Redis Streams: what web and Celery processes call."""

import asyncio
import random
import socket
import time
from collections.abc import AsyncIterator, Callable, Collection
from functools import partial
from typing import Any

import redis.asyncio
import structlog

from coordination import keys
from tts.engine.errors import VersionUnavailable, WorkerLost
from tts.engine.request import SpeechRequest
from tts.gateway.heartbeat import (
    BEAT_SECONDS,
    BEAT_TTL_MS,
    INDEX_TTL_SECONDS,
    WATCH_SECONDS,
    WorkerBeat,
    beat_decode,
)
from tts.gateway.placement import Placement, WorkerRef
from tts.gateway.sightings import Sightings
from tts.gateway.stream import RequestStream
from tts.gateway.transport import (
    COMMAND_TIMEOUT,
    CONNECTION_ERRORS,
    STREAM_TTL_MS,
    StreamReader,
    StreamWriter,
    client_derive,
    run_again,
    stream_create,
    tasks_end,
)
from tts.gateway.wire import (
    RequestMessage,
    WireError,
    WorkerDied,
    gateway_message_decode,
    message_encode,
)
from tts.text.segment import Segment

log = structlog.get_logger(__name__)

DISCONNECTED_SECONDS = 1.0
"""Without contact to Redis for this long, requests under way end with WorkerLost."""
STOP_SECONDS = 2.0


class RedisGateway:
    """Places requests on synthesis workers and brings their events back.

    `gateway_id` names this life of the process: a restarted process must have
    another, or announce the loss of the former first. `supervised` says whether
    somebody on this machine announces the death of this process.
    """

    def __init__(
        self,
        gateway_id: str,
        client: redis.asyncio.Redis,
        *,
        supervised: bool = False,
        clock: Callable[[], float] = time.monotonic,
        rng: random.Random | None = None,
    ) -> None:
        self.gateway_id = gateway_id
        # What its beat says: where a death would be announced.
        self._announced_on = socket.gethostname() if supervised else ""
        self._client = client
        self._clock = clock
        self._placement = Placement(gateway_id, rng or random.Random())  # noqa: S311 - load balancing
        self._streams: dict[str, RequestStream] = {}
        self._replies = keys.gateway_replies(gateway_id)
        self._tasks: list[asyncio.Task[None]] = []
        self._sightings = Sightings(socket.gethostname())
        self._failing_since: float | None = self._clock()
        self._created = False
        self._started = False

    async def start(self) -> None:
        """Connect; returns when the workers are known, or after 2 s without Redis. Idempotent."""
        if self._started:
            return
        self._started = True
        self._watcher = client_derive(self._client, timeout=COMMAND_TIMEOUT, connections=2)
        self._writer = StreamWriter(self._client, self._request_stream_gone)
        reader = StreamReader(self._client, self._replies, self._message)
        first = asyncio.Event()
        self._tasks = [
            asyncio.create_task(run_again(name, part), name=name)
            for name, part in (
                ("gateway-reader", reader.run),
                ("gateway-writer", self._writer.run),
                ("gateway-watch", partial(self._watch, first)),
            )
        ]
        try:
            async with asyncio.timeout(COMMAND_TIMEOUT):
                await first.wait()
        except TimeoutError:
            log.warning("gateway_starts_without_redis", gateway_id=self.gateway_id)

    async def stop(self) -> None:
        """Cancel what is open, disconnect and take this gateway's keys away."""
        if not self._started:
            return
        self._started = False
        for stream in list(self._streams.values()):
            await stream.cancel()
        await self._writer.flush(STOP_SECONDS)
        await tasks_end(self._tasks)
        try:
            pipeline = self._watcher.pipeline(transaction=False)
            pipeline.delete(self._replies, keys.gateway_beat(self.gateway_id))
            pipeline.srem(keys.GATEWAYS, self.gateway_id)
            await pipeline.execute()
        except CONNECTION_ERRORS as error:
            # They expire by themselves.
            log.warning("gateway_keys_left", error=repr(error))
        finally:
            await self._watcher.aclose()

    def open(self, request: SpeechRequest, segments: AsyncIterator[Segment]) -> RequestStream:
        """Begin a request; see SpeechGateway."""
        if request.request_id in self._streams:
            raise ValueError(f"request {request.request_id} is under way already")
        stream = RequestStream(request, segments, self)
        self._streams[request.request_id] = stream
        return stream

    async def ready_versions(self) -> frozenset[str]:
        """The versions that some live worker can speak now."""
        return self._placement.versions if self._connected else frozenset()

    @property
    def workers(self) -> dict[str, WorkerBeat]:
        """The workers that are alive, by id, as of the last look."""
        return self._placement.workers if self._connected else {}

    # Carrier

    def place(self, request: SpeechRequest, tried: Collection[WorkerRef]) -> WorkerRef:
        """Choose a worker; raises VersionUnavailable, Draining."""
        if not self._connected:
            raise VersionUnavailable("the synthesis workers cannot be reached", retry_after=2.0)
        return self._placement.place(request.request_id, request.version, tried)

    def send(self, worker: WorkerRef, message: RequestMessage) -> None:
        """Queue a message to a worker."""
        self._writer.post(keys.worker_requests(worker.worker_id), message_encode(message))

    def release(self, request_id: str) -> None:
        """Forget a stream that is over."""
        self._streams.pop(request_id, None)
        self._placement.release(request_id)

    # Inside

    @property
    def _connected(self) -> bool:
        return self._started and self._created and not self._disconnected

    @property
    def _disconnected(self) -> bool:
        """Whether looks at Redis have failed for a while.

        What counts is failed looks, not the age of the last good one: after a
        stall of this process's own loop nothing has failed yet.
        """
        since = self._failing_since
        return since is not None and self._clock() - since >= DISCONNECTED_SECONDS

    def _message(self, raw: bytes) -> None:
        try:
            message = gateway_message_decode(raw)
        except WireError as error:
            log.warning("reply_dropped", error=str(error), request_id=error.request_id)
            stream = self._streams.get(error.request_id)
            if stream is not None:
                stream.fail(WorkerLost("the worker sent what cannot be read"))
            return
        if isinstance(message, WorkerDied):
            self._lost(message)
            return
        stream = self._streams.get(message.event.request_id)
        if stream is not None:
            stream.deliver(message.event)

    def _request_stream_gone(self, key: str) -> None:
        for beat in self._placement.workers.values():
            if keys.worker_requests(beat.worker_id) == key:
                self._placement.remove(beat.worker_id)
                self._sightings.ended(beat.worker_id)
                self._lost_in_order(WorkerRef(beat.worker_id, beat.incarnation))
                return

    def _lost_in_order(self, worker: WorkerRef) -> None:
        """Act on a worker's end after everything that it wrote before has been read."""
        self._writer.discard(keys.worker_requests(worker.worker_id))
        lost = WorkerDied(worker.worker_id, worker.incarnation)
        self._writer.post(self._replies, message_encode(lost))

    def _lost(self, lost: WorkerDied) -> None:
        beat = self._placement.workers.get(lost.worker_id)
        if beat is not None and lost.incarnation in {"", beat.incarnation}:
            self._placement.remove(lost.worker_id)
            self._sightings.ended(lost.worker_id)
        for stream in list(self._streams.values()):
            worker = stream.worker
            if (
                worker is not None
                and worker.worker_id == lost.worker_id
                and lost.incarnation in {"", worker.incarnation}
            ):
                stream.lost(worker, f"the worker {lost.worker_id} was lost")

    async def _watch(self, first: asyncio.Event) -> None:
        """Look at the beats, and show this gateway's own, until cancelled."""
        beat_at = float("-inf")
        while True:
            now = self._clock()
            own = now - beat_at >= BEAT_SECONDS * 0.9
            try:
                await self._look(own=own)
            except CONNECTION_ERRORS as error:
                log.warning("gateway_watch_failed", error=repr(error))
                if self._failing_since is None:
                    self._failing_since = now
                if self._disconnected:
                    self._fail_all("the connection to the synthesis workers was lost")
            else:
                beat_at = now if own else beat_at
                first.set()
            pause = WATCH_SECONDS if self._streams else BEAT_SECONDS
            await asyncio.sleep(max(0.0, pause - (self._clock() - now)))

    async def _look(self, *, own: bool) -> None:
        if not self._created:
            await stream_create(self._watcher, self._replies)
            self._created = True
        pipeline = self._watcher.pipeline(transaction=False)
        pipeline.pexpire(self._replies, STREAM_TTL_MS)
        pipeline.smembers(keys.WORKERS)
        known = sorted(self._sightings.known)
        if known:
            pipeline.mget([keys.worker_beat(worker_id) for worker_id in known])
        if own:
            pipeline.set(keys.gateway_beat(self.gateway_id), self._announced_on, px=BEAT_TTL_MS)
            pipeline.sadd(keys.GATEWAYS, self.gateway_id)
            pipeline.expire(keys.GATEWAYS, INDEX_TTL_SECONDS)
        results: list[Any] = await pipeline.execute()
        if not results[0]:
            # What was in the stream is lost, so what is under way cannot be continued.
            self._created = False
            self._fail_all("the reply stream was lost")
            return
        listed = {worker_id.decode() for worker_id in results[1]}
        raw = dict(zip(known, results[2] if known else (), strict=True))
        unknown = sorted(listed.difference(known))
        if unknown:
            more = await self._watcher.mget([keys.worker_beat(w) for w in unknown])
            raw.update(zip(unknown, more, strict=True))
        self._failing_since = None
        beats = [beat for value in raw.values() if value and (beat := beat_decode(value))]
        for worker in self._placement.update(self._sightings.look(listed, beats, self._clock())):
            log.warning("worker_gone", worker_id=worker.worker_id)
            self._lost_in_order(worker)
        # Those that are gone for good; a live one comes back by itself.
        gone = self._sightings.gone(self._clock())
        if gone:
            pipeline = self._watcher.pipeline(transaction=False)
            pipeline.srem(keys.WORKERS, *gone)
            await pipeline.execute()

    def _fail_all(self, why: str) -> None:
        for stream in list(self._streams.values()):
            stream.fail(WorkerLost(why, retry_after=1.0))
