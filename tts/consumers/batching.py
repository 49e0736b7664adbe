"""The batching consumer: a synthesis worker's one instance, made at boot.

Requests come by the worker's own Redis stream and audio leaves by the gateways'
(`tts.gateway`); the channel layer brings hints only, which may be lost.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any

import redis.asyncio
import structlog
from channels.consumer import AsyncConsumer

from coordination import keys
from coordination.epoch import CONFIG_GROUP
from tts.consumers.worker.engines import Engines
from tts.consumers.worker.intake import Intake
from tts.consumers.worker.loading import EngineLoader, Version
from tts.consumers.worker.presence import Load, Presence
from tts.engine.errors import Draining
from tts.engine.event import EngineEvent
from tts.gateway.local import EventSink, SpeechCore
from tts.gateway.transport import Backoff, StreamReader, StreamWriter, tasks_end

log = structlog.get_logger(__name__)

MAX_REQUESTS = 512
FLUSH_SECONDS = 2.0
DRAIN_SLACK_SECONDS = 0.5
CORE_STOP_SECONDS = 5.0
REJOIN_SECONDS = 20.0
"""How often a worker says that it is still in its group; the layer's `group_expiry` is longer."""


class WorkerFailed(Exception):
    """A part of the worker ended by itself; the process should be started anew."""


class BatchingConsumer(AsyncConsumer):
    """Owns the engine core, feeds it from Redis, and sends what it says.

    `make_core(sink)` builds the core; `loader` makes engines; `read_versions`
    are those that some route gives weight to; `count_leases` how many requests
    all processes still hold on a version; `counted(waiting, active)` is told
    the worker's requests at every beat; `supervised` says whether somebody on
    this machine announces its death.
    """

    def __init__(
        self,
        worker_id: str,
        client: redis.asyncio.Redis,
        make_core: Callable[[EventSink], SpeechCore],
        loader: EngineLoader,
        read_versions: Callable[[], Awaitable[Collection[Version]]],
        count_leases: Callable[[str], Awaitable[int]],
        *,
        supervised: bool = False,
        max_requests: int = MAX_REQUESTS,
        counted: Callable[[int, int], None] = lambda waiting, active: None,
    ) -> None:
        self.worker_id = worker_id
        self._counted = counted
        self._loop = asyncio.get_running_loop()
        self._core = make_core(self._sink)
        self._presence = Presence(client, worker_id, self, supervised=supervised)
        self._engines = Engines(
            self._core,
            loader,
            read_versions,
            count_leases,
            changed=self._engines_changed,
            shown=self._presence.shown,
        )
        self._intake = Intake(self._core, self._engines, self._reply, max_requests=max_requests)
        self._engines.listener = self._intake
        self._writer = StreamWriter(client, self._reply_stream_gone)
        self._reader = StreamReader(client, keys.worker_requests(worker_id), self._intake.message)
        self._gateways: dict[str, str] = {}
        self._epoch = ""
        self._announced = False
        self._hint_booted = False

    async def run(self, stop: asyncio.Event, *, grace: float) -> None:
        """Serve until `stop` is set, then finish what is under way within `grace` seconds.

        Raises WorkerFailed when a part of it ended by itself.
        """
        self._core.start()
        # The reader outlives the drain: what is still being sent gets an answer.
        parts = [
            asyncio.create_task(part, name=f"worker-{name}")
            for name, part in (
                ("presence", self._presence.run()),
                ("writer", self._writer.run()),
                ("reader", self._reader.run()),
                ("engines", self._engines.run()),
                ("hints", self._hints()),
            )
        ]
        stopping = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait({stopping, *parts}, return_when=asyncio.FIRST_COMPLETED)
            failed = [part for part in parts if part.done()]
            await self._drain(0.0 if failed else grace)
        finally:
            await tasks_end([*parts, stopping])
            await self._presence.leave()
        if failed:
            raise WorkerFailed(f"{failed[0].get_name()} ended") from failed[0].exception()

    # The channel layer

    async def batching_boot(self, message: dict[str, Any]) -> None:
        """Join the group that hints at changes, or stay in it."""
        if self.channel_layer is not None:
            await self.channel_layer.group_add(CONFIG_GROUP, self.channel_name)

    async def config_changed(self, message: dict[str, Any]) -> None:
        """The configuration may have changed."""
        self._engines.kick()

    # What the presence asks and tells

    def load(self) -> Load:
        """The state that the heartbeat shows."""
        self._intake.expire()
        self._engines.broken_remove()
        requests = self._intake.requests
        self._counted(requests.waiting, requests.active)
        stats = self._core.stats()
        return Load(
            versions=self._engines.ready_versions,
            loading=self._engines.loading_versions,
            failed=self._engines.failures,
            cold=self._engines.cold_versions,
            slots=sum(engine.slots for engine in stats.engines),
            free_slots=stats.free,
            waiting=requests.waiting,
            active=requests.active,
            draining=self._intake.draining,
            booting=not self._engines.reconciled,
            busy_loading=self._engines.is_loading,
            gateways=requests.gateways,
        )

    def gateway_lost(self, gateway_id: str) -> None:
        """A gateway died: free what it asked for."""
        key = keys.gateway_replies(gateway_id)
        self._gateways.pop(key, None)
        self._writer.discard(key)
        self._intake.gateway_lost(gateway_id)

    def stream_lost(self) -> None:
        """The request stream vanished: its gateways begin anew, elsewhere or here."""
        self._intake.cancel_all()

    def epoch_seen(self, epoch: str) -> None:
        """Follow the configuration."""
        if epoch != self._epoch:
            self._epoch = epoch
            self._engines.kick()

    # Inside

    def _sink(self, events: Sequence[EngineEvent]) -> None:
        """Take a step's events from the core's thread to the loop."""
        # The loop may be closed while the core still finishes its last step.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._intake.events, events)

    def _reply(self, gateway_id: str, message: bytes) -> None:
        key = keys.gateway_replies(gateway_id)
        self._gateways[key] = gateway_id
        self._writer.post(key, message)

    def _reply_stream_gone(self, key: str) -> None:
        gateway_id = self._gateways.get(key)
        if gateway_id is not None:
            log.warning("reply_stream_gone", gateway_id=gateway_id)
            self.gateway_lost(gateway_id)

    def _engines_changed(self) -> None:
        self._presence.changed()
        if not self._announced and self._engines.reconciled and not self._engines.is_loading:
            self._announced = True
            log.info(
                "synthesizer_ready",
                worker_id=self.worker_id,
                versions=list(self._engines.ready_versions),
                failed=self._engines.failures,
                cold=list(self._engines.cold_versions),
            )

    async def _drain(self, grace: float) -> None:
        """Refuse what is new, finish what is under way, stop the core."""
        log.info(
            "synthesizer_draining", worker_id=self.worker_id, requests=len(self._intake.requests)
        )
        self._intake.draining = True
        self._presence.changed()
        # What has had no turn yet is refused: another worker takes it sooner.
        self._intake.held_refuse(Draining("the worker is stopping", retry_after=1.0))
        self._core.drain(grace)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace + DRAIN_SLACK_SECONDS):
                await self._intake.requests.idle.wait()
        self._intake.end_all(Draining("the worker has stopped", retry_after=1.0))
        await self._writer.flush(FLUSH_SECONDS)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CORE_STOP_SECONDS):
                await asyncio.to_thread(self._core.stop, 0.0)

    async def _hints(self) -> None:
        """Run as a consumer of the channel layer, again whenever that fails."""
        backoff = Backoff()
        while True:
            self._hint_booted = False
            try:
                # The types of Channels know scopes of HTTP and WebSocket only.
                application: Any = self
                await application({"type": "batching"}, self._hint_receive, self._hint_send)
            except Exception as error:  # noqa: BLE001 - hints may be lost; the epoch is the truth
                log.info("hints_interrupted", error=repr(error))
            await backoff.wait()

    async def _hint_receive(self) -> dict[str, str]:
        if self._hint_booted:
            await asyncio.sleep(REJOIN_SECONDS)
        self._hint_booted = True
        return {"type": "batching.boot"}

    async def _hint_send(self, message: dict[str, Any]) -> None:
        """Nothing is ever sent to whoever made the consumer."""
