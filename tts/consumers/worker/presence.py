"""A worker's presence in Redis: its heartbeat, its request stream, and who else is alive."""

import asyncio
import os
import secrets
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import redis.asyncio
import structlog

from coordination import keys
from tts.gateway.heartbeat import (
    BEAT_SECONDS,
    BEAT_TTL_MS,
    INDEX_TTL_SECONDS,
    LOADING_TTL_MS,
    STARVED_SECONDS,
    WorkerBeat,
    beat_encode,
)
from tts.gateway.transport import (
    COMMAND_TIMEOUT,
    CONNECTION_ERRORS,
    STREAM_TTL_MS,
    client_derive,
    stream_create,
)

log = structlog.get_logger(__name__)

SHOWN_SECONDS = 0.5
MISSES_MOST = 2
"""A gateway whose beat is missing at this many looks in a row is dead."""
MISSES_MOST_STARVED = MISSES_MOST + round(STARVED_SECONDS / BEAT_SECONDS)
"""As many for one whose death a supervisor on this machine would have announced."""


@dataclass(frozen=True, slots=True)
class Load:
    """What a worker has to say of itself at a beat."""

    versions: tuple[str, ...]
    loading: tuple[str, ...]
    failed: dict[str, str]
    cold: tuple[str, ...]
    slots: int
    free_slots: int
    waiting: int
    active: int
    draining: bool
    booting: bool
    busy_loading: bool
    gateways: dict[str, int]


class PresenceListener(Protocol):
    """Who acts on what the heartbeat finds (the consumer)."""

    def load(self) -> Load:
        """The state to show; called before every beat."""

    def gateway_lost(self, gateway_id: str) -> None:
        """A gateway's beat is gone."""

    def stream_lost(self) -> None:
        """The request stream vanished with whatever was in it."""

    def epoch_seen(self, epoch: str) -> None:
        """The configuration epoch, read at every beat."""


class Presence:
    """Beats every 200 ms on the event loop, and at once when something changed."""

    def __init__(
        self,
        client: redis.asyncio.Redis,
        worker_id: str,
        listener: PresenceListener,
        *,
        supervised: bool = False,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._client = client_derive(client, timeout=COMMAND_TIMEOUT, connections=2)
        self._worker_id = worker_id
        self._supervised = supervised
        self._host = socket.gethostname()
        self._listener = listener
        self._clock = clock
        self._started_at = wall_clock()
        self._incarnation = ""
        self._sequence = 0
        self._misses: dict[str, int] = {}
        self._announced: set[str] = set()
        self._changed = asyncio.Event()
        self._waiters: list[asyncio.Future[None]] = []

    def changed(self) -> None:
        """Beat now: the state is another."""
        self._changed.set()

    async def shown(self) -> None:
        """Return when the state as it is now has been shown, or after half a second."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        self._changed.set()
        await asyncio.wait({waiter}, timeout=SHOWN_SECONDS)

    async def run(self) -> None:
        """Beat until cancelled."""
        while True:
            self._changed.clear()
            began = self._clock()
            try:
                await self._beat()
            except CONNECTION_ERRORS as error:
                log.warning("heartbeat_failed", error=repr(error))
                await asyncio.sleep(BEAT_SECONDS)
                continue
            pause = max(0.0, BEAT_SECONDS - (self._clock() - began))
            try:
                async with asyncio.timeout(pause):
                    await self._changed.wait()
            except TimeoutError:
                continue

    async def leave(self) -> None:
        """Take this worker's keys away, so that everybody knows it is gone."""
        try:
            pipeline = self._client.pipeline(transaction=True)
            pipeline.delete(
                keys.worker_beat(self._worker_id), keys.worker_requests(self._worker_id)
            )
            pipeline.srem(keys.WORKERS, self._worker_id)
            await pipeline.execute()
        except CONNECTION_ERRORS as error:
            # They expire by themselves.
            log.warning("worker_keys_left", error=repr(error))
        finally:
            await self._client.aclose()

    async def _beat(self) -> None:
        stream = keys.worker_requests(self._worker_id)
        if not self._incarnation:
            await stream_create(self._client, stream)
            self._incarnation = secrets.token_hex(6)
        waiters, self._waiters = self._waiters, []
        load = self._listener.load()
        gateways = sorted(load.gateways)
        pipeline = self._client.pipeline(transaction=False)
        pipeline.pexpire(stream, STREAM_TTL_MS)
        pipeline.get(keys.CONFIG_EPOCH)
        pipeline.set(
            keys.worker_beat(self._worker_id),
            beat_encode(self._describe(load)),
            px=LOADING_TTL_MS if load.busy_loading or load.booting else BEAT_TTL_MS,
        )
        pipeline.sadd(keys.WORKERS, self._worker_id)
        pipeline.expire(keys.WORKERS, INDEX_TTL_SECONDS)
        if gateways:
            pipeline.mget([keys.gateway_beat(gateway_id) for gateway_id in gateways])
        results: list[Any] = await pipeline.execute()
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)
        if not results[0]:
            log.warning("request_stream_lost", worker_id=self._worker_id)
            self._incarnation = ""
            self._listener.stream_lost()
            self._changed.set()
            return
        self._listener.epoch_seen((results[1] or b"").decode())
        self._gateways_check(gateways, results[-1] if gateways else [])

    def _describe(self, load: Load) -> WorkerBeat:
        self._sequence += 1
        return WorkerBeat(
            worker_id=self._worker_id,
            incarnation=self._incarnation,
            sequence=self._sequence,
            versions=load.versions,
            loading=load.loading,
            failed=load.failed,
            cold=load.cold,
            slots=load.slots,
            free_slots=load.free_slots,
            waiting=load.waiting,
            active=load.active,
            gateways=load.gateways,
            draining=load.draining,
            booting=load.booting,
            host=self._host,
            pid=os.getpid(),
            started_at=self._started_at,
            supervised=self._supervised,
        )

    def _gateways_check(self, gateways: list[str], beats: list[bytes | None]) -> None:
        found = dict(zip(gateways, beats, strict=True))
        here = {name for name, beat in found.items() if beat and beat.decode() == self._host}
        self._announced = (self._announced & found.keys()) | here
        missing = [gateway for gateway, beat in found.items() if beat is None]
        self._misses = {gateway: self._misses.get(gateway, 0) + 1 for gateway in missing}
        for gateway_id, misses in self._misses.items():
            announced = gateway_id in self._announced
            if misses >= (MISSES_MOST_STARVED if announced else MISSES_MOST):
                log.warning("gateway_lost", gateway_id=gateway_id)
                self._listener.gateway_lost(gateway_id)
