"""The single-threaded heart: commands change its state, `turn` computes once for everyone."""

from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from math import inf

from tts.engine.computing import Computing
from tts.engine.config import BatchingConfig, CoreConfig
from tts.engine.errors import (
    Draining,
    EngineError,
    QueueTimeout,
    VersionUnavailable,
)
from tts.engine.event import EngineEvent, FinishReason
from tts.engine.host import EngineHost
from tts.engine.job import EngineKey
from tts.engine.observer import EngineObserver
from tts.engine.request import Profile, SpeechRequest
from tts.engine.scheduler import Scheduler
from tts.engine.stats import CoreStats, EngineStats
from tts.engine.stream import PostProcessorFactory
from tts.engine.streams import Streams
from tts.engines.base import SpeechEngine
from tts.text.segment import Segment


class CoreLoop:
    """Engines and requests of one worker. Not thread-safe: one thread calls everything.

    `background` carries out what would keep a turn waiting: the end of an engine.
    """

    def __init__(
        self,
        config: CoreConfig,
        observer: EngineObserver,
        clock: Callable[[], float],
        postprocessor_factory: PostProcessorFactory,
    ) -> None:
        self._clock = clock
        self._scheduler = Scheduler(config)
        self._streams = Streams(config, self._scheduler, clock, postprocessor_factory)
        self._hosts: dict[EngineKey, EngineHost] = {}
        self._computing = Computing(config, self._scheduler, self._streams, observer, clock)
        self.background: Callable[[Callable[[], None]], None] = _at_once
        self._removals: list[tuple[_Removed, Future[None]]] = []
        self._drain_until: float | None = None
        self._began = clock()

    def submit(self, request: SpeechRequest) -> None:
        """Take a request in, or end it at once with the error that says why not.

        A newer attempt replaces an older; an older or the same one is ignored.
        """
        current = self._streams.current(request.request_id)
        if current is not None:
            if current.request.attempt >= request.attempt:
                return
            self._streams.end(current, FinishReason.CANCELLED)
        try:
            self._streams.open(request, self._host_for(request))
        except EngineError as error:
            self._streams.refuse(request, error)

    def submit_failed(self, request: SpeechRequest, error: EngineError) -> None:
        """End a request whose submission broke off, however far it came."""
        if not self.fail(request.request_id, request.attempt, error):
            self._streams.refuse(request, error)

    def fail(self, request_id: str, attempt: int, error: EngineError) -> bool:
        """End an open request with an error; False if it is not open."""
        stream = self._streams.find(request_id, attempt)
        if stream is not None:
            self._streams.fail(stream, error)
        return stream is not None

    def append(self, request_id: str, attempt: int, segment: Segment) -> None:
        """One more segment of a request whose input has not ended."""
        stream = self._streams.find(request_id, attempt)
        if stream is not None and not stream.input_ended:
            self._streams.append(stream, segment)

    def end_input(self, request_id: str, attempt: int) -> None:
        """No more segments will come."""
        stream = self._streams.find(request_id, attempt)
        if stream is not None:
            stream.input_ended = True
            self._streams.flush(stream)

    def grant(self, request_id: str, attempt: int, samples: int) -> None:
        """The listener takes so many more samples."""
        stream = self._streams.find(request_id, attempt)
        if stream is not None:
            self._streams.grant(stream, samples)

    def cancel(self, request_id: str, attempt: int) -> None:
        """End a request now."""
        stream = self._streams.find(request_id, attempt)
        if stream is not None:
            self._streams.end(stream, FinishReason.CANCELLED)

    def engine_add(self, key: EngineKey, engine: SpeechEngine, batching: BatchingConfig) -> None:
        """Take requests for a loaded engine from now on; raises ValueError if `key` is taken."""
        self._scheduler.engine_add(key, engine.traits, batching)
        self._hosts[key] = EngineHost(key, engine)

    def engine_remove(self, version: str, profile: Profile | None, done: Future[None]) -> None:
        """Take no new requests for a version, or one profile of it; `done` after the last one."""
        removed = _Removed(version, profile)
        for key, host in self._hosts.items():
            host.leaving = host.leaving or removed.includes(key)
        self._removals.append((removed, done))

    def batching_set(self, version: str, batching: BatchingConfig) -> None:
        """Change the settings of a version, in all its profiles."""
        for key in self._hosts:
            if key[0] == version:
                self._scheduler.batching_set(key, batching)

    def drain(self, seconds: float) -> None:
        """Take nothing new; what has had a turn may go on for `seconds`, then all is ended.

        What still waits is ended at once: another worker can take it.
        """
        self._drain_until = self._clock() + seconds
        for stream in self._streams:
            if not stream.started:
                self._streams.fail(stream, Draining("the worker is stopping", retry_after=1.0))

    @property
    def drained(self) -> bool:
        """Whether draining has come to its end."""
        return self._drain_until is not None and not self._streams

    def turn(self) -> float:
        """Compute once for everyone; returns when to call again if nothing happens before.

        Nothing waits in here: STEP engines compute one step, the others report
        what has arrived. `take_events` has what came of it.
        """
        now = self._clock()
        self._computing.account(now - self._began)
        self._began = now
        self._expire_drain(now)
        stall_at = self._streams.expire_stalled(now)
        plan = self._scheduler.schedule(now)
        for request_id in plan.expired:
            self._time_out(request_id)
        for run_id in plan.released:
            self._streams.run_ended(run_id)
        again = self._computing.start(plan.starts)
        for key, run_ids in plan.active.items():
            again |= self._computing.step(self._hosts[key], run_ids)
        position_at = self._streams.report_positions(now)
        self._remove_drained()
        drain_at = self._drain_until if self._drain_until is not None else inf
        return now if again else min(plan.wake_at, stall_at, position_at, drain_at)

    def take_events(self) -> list[EngineEvent]:
        """Everything that happened since the last call."""
        return self._streams.take_events()

    def abort(self, error: EngineError) -> None:
        """End every request with `error`."""
        for stream in self._streams:
            self._streams.fail(stream, error)

    def close(self) -> None:
        """Free all engines; every request must have ended."""
        for host in self._hosts.values():
            host.close()
        self._hosts.clear()
        for _, done in self._removals:
            done.set_result(None)
        self._removals.clear()

    def stats(self) -> CoreStats:
        """This moment."""
        users = self._streams.users
        leases = dict.fromkeys((version for version, _ in self._hosts), 0)
        for (version, _), requests in users.items():
            leases[version] += requests
        depth = self._scheduler.depth()
        waiting = sum(depth.values())
        return CoreStats(
            waiting=waiting,
            active=len(self._streams) - waiting,
            free=self._scheduler.free(),
            draining=self._drain_until is not None,
            depth=depth,
            leases=leases,
            engines=tuple(
                EngineStats(
                    key[0],
                    key[1],
                    users[key],
                    len(host),
                    self._scheduler.slots(key),
                    host.broken,
                )
                for key, host in self._hosts.items()
            ),
        )

    def is_empty(self) -> bool:
        """Whether nothing of any request is left anywhere."""
        resident = sum(len(host) for host in self._hosts.values())
        return self._streams.is_empty() and self._scheduler.is_empty() and not resident

    def _host_for(self, request: SpeechRequest) -> EngineHost:
        if self._drain_until is not None:
            raise Draining("the worker is stopping", retry_after=1.0)
        host = self._hosts.get((request.version, request.profile))
        if host is None or not host.open:
            why = "is not loaded" if host is None or host.leaving else "failed"
            raise VersionUnavailable(
                f"version {request.version} {why} here in profile {request.profile}",
                retry_after=1.0,
            )
        return host

    def _expire_drain(self, now: float) -> None:
        if self._drain_until is not None and now >= self._drain_until:
            error = "the worker stopped before the speech was complete"
            self.abort(Draining(error, retry_after=1.0))

    def _time_out(self, request_id: str) -> None:
        stream = self._streams.current(request_id)
        if stream is not None:
            limit = stream.request.max_queue_seconds
            retry_after = self._scheduler.retry_after(request_id, self._clock())
            error = QueueTimeout(f"no turn within {limit:g} s", retry_after=retry_after)
            self._streams.fail(stream, error)

    def _remove_drained(self) -> None:
        for removed, done in tuple(self._removals):
            keys = [key for key in self._hosts if removed.includes(key)]
            if any(self._streams.users[key] for key in keys):
                continue
            for key in keys:
                self._scheduler.engine_remove(key)
            hosts = [self._hosts.pop(key) for key in keys]
            self._removals.remove((removed, done))
            self.background(partial(_hosts_close, hosts, done))


@dataclass(frozen=True, slots=True)
class _Removed:
    """A version that is taken out, in one profile or in all."""

    version: str
    profile: Profile | None

    def includes(self, key: EngineKey) -> bool:
        """Whether the engine is one of those."""
        return key[0] == self.version and self.profile in (None, key[1])


def _at_once(work: Callable[[], None]) -> None:
    work()


def _hosts_close(hosts: Iterable[EngineHost], done: Future[None]) -> None:
    for host in hosts:
        host.close()
    done.set_result(None)
