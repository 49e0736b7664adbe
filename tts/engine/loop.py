"""The single-threaded heart: commands change its state, `turn` computes once for everyone."""

import logging
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from math import inf
from zlib import crc32

from tts.engine.config import BatchingConfig, CoreConfig
from tts.engine.errors import (
    Draining,
    EngineError,
    NothingToSpeak,
    QueueTimeout,
    SynthesisFailed,
    VersionUnavailable,
)
from tts.engine.event import EngineEvent, FinishReason
from tts.engine.host import EngineHost
from tts.engine.job import EngineKey
from tts.engine.observer import EngineObserver, StepStats
from tts.engine.request import SpeechRequest
from tts.engine.scheduler import Scheduler, Start
from tts.engine.stats import CoreStats, EngineStats
from tts.engine.stream import PostProcessorFactory
from tts.engine.streams import Streams, Work
from tts.engines.base import EngineKind, SpeechEngine, StepResult, SynthesisParams
from tts.text.segment import Segment

logger = logging.getLogger(__name__)


class CoreLoop:
    """Engines and requests of one worker. Not thread-safe: one thread calls everything."""

    def __init__(
        self,
        config: CoreConfig,
        observer: EngineObserver,
        clock: Callable[[], float],
        postprocessor_factory: PostProcessorFactory,
    ) -> None:
        self._config = config
        self._observer = observer
        self._clock = clock
        self._scheduler = Scheduler(config)
        self._streams = Streams(config, self._scheduler, clock, postprocessor_factory)
        self._hosts: dict[EngineKey, EngineHost] = {}
        self._removals: list[tuple[str, Future[None]]] = []
        self._drain_until: float | None = None

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

    def engine_remove(self, version: str, done: Future[None]) -> None:
        """Take no new requests for a version; `done` when its last one has ended."""
        for key, host in self._hosts.items():
            host.leaving = host.leaving or key[0] == version
        self._removals.append((version, done))

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
                self._streams.fail(stream, Draining("the worker is stopping"))

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
        self._expire_drain(now)
        stall_at = self._streams.expire_stalled(now)
        plan = self._scheduler.schedule(now)
        for request_id in plan.expired:
            self._time_out(request_id)
        for run_id in plan.released:
            self._streams.run_ended(run_id)
        again = self._start(plan.starts)
        for key, run_ids in plan.active.items():
            again |= self._step(self._hosts[key], run_ids)
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
            raise Draining("the worker is stopping")
        host = self._hosts.get((request.version, request.profile))
        if host is None or not host.open:
            why = "is not loaded" if host is None or host.leaving else "failed"
            raise VersionUnavailable(
                f"version {request.version} {why} here in profile {request.profile}"
            )
        return host

    def _expire_drain(self, now: float) -> None:
        if self._drain_until is not None and now >= self._drain_until:
            self.abort(Draining("the worker stopped before the speech was complete"))

    def _time_out(self, request_id: str) -> None:
        stream = self._streams.current(request_id)
        if stream is not None:
            limit = stream.request.max_queue_seconds
            self._streams.fail(stream, QueueTimeout(f"no turn within {limit:g} s", retry_after=1.0))

    def _start(self, starts: Iterable[Start]) -> bool:
        """Prepare new runs within the turn's time; the rest is put off. Says if there is a rest."""
        until = self._clock() + self._config.prepare_seconds
        deferred = False
        for index, start in enumerate(starts):
            if self._streams.current(start.request_id) is None:
                continue  # another of its segments failed just now
            if index and self._clock() >= until:
                self._scheduler.run_deferred(start.run_id)
                deferred = True
            else:
                self._prepare(start)
        return deferred

    def _prepare(self, start: Start) -> None:
        stream = self._streams.current(start.request_id)
        if stream is None:
            return
        request = stream.request
        work = self._streams.begin(start, self._hosts[request.version, request.profile])
        # A segment may be computed twice (preemption), a request twice (another worker):
        # both must give the same samples, so there is always a seed.
        seed = request.seed if request.seed is not None else crc32(request.request_id.encode())
        params = SynthesisParams(request.profile, seed, request.style)
        began = self._clock()
        try:
            seconds = work.host.prepare(
                start.run_id, stream.segment(start.segment_index), request.voice, params
            )
        except NothingToSpeak as error:
            self._finish_run(work, silent=error)
        except EngineError as error:
            self._streams.fail(stream, error)
        except Exception as error:
            logger.exception("engine %s failed to prepare a segment", work.host.key)
            self._streams.fail(stream, _failure("preparing the text failed", error))
        else:
            self._scheduler.prepared(start.run_id, seconds)
        stream.prepare_seconds += self._clock() - began

    def _step(self, host: EngineHost, run_ids: Iterable[int]) -> bool:
        """Advance an engine once; says whether there is more to do at once."""
        rows = [run_id for run_id in run_ids if run_id in host]
        if not rows:
            return True
        began = self._clock()
        try:
            results = host.step(rows)
        except Exception as error:
            logger.exception("a step of engine %s failed", host.key)
            self._step_failed(host, rows, error)
            return True
        host.failures = 0
        stepped = self._clock()
        audio_seconds = sum(len(r.audio) for _, r in results) / host.traits.sample_rate
        ended = self._deliver(results)
        steps = host.traits.kind is EngineKind.STEP
        if steps:
            self._scheduler.measured(host.key, len(rows), self._clock() - began)
        if steps or results:
            version, profile = host.key
            depth = self._scheduler.depth()
            self._observer.step_finished(
                StepStats(
                    version,
                    profile,
                    len(rows),
                    stepped - began,
                    audio_seconds,
                    sum(depth.values()),
                    len(self._streams) - sum(depth.values()),
                )
            )
        return steps or ended

    def _deliver(self, results: Iterable[tuple[int, StepResult]]) -> bool:
        """Pass results on, send what may leave; says whether any run ended."""
        touched: dict[str, Work] = {}
        ended = False
        for run_id, result in results:
            work = self._streams.work(run_id)
            if work is None:
                continue  # its request failed by an earlier result
            stream = work.stream
            stream.compute_seconds += result.compute_seconds
            if result.error is not None:
                self._streams.fail(stream, result.error)
                touched.pop(stream.request.request_id, None)
                ended = True
                continue
            self._streams.push(work, result.audio)
            touched[stream.request.request_id] = work
            if result.finished:
                self._finish_run(work)
                ended = True
        for work in touched.values():
            self._streams.flush(work.stream)
        return ended

    def _finish_run(self, work: Work, silent: NothingToSpeak | None = None) -> None:
        self._scheduler.run_finished(work.run_id, self._clock())
        self._streams.run_ended(work.run_id)
        work.stream.segment_done(work.segment_index, silent)
        if silent is not None:
            self._streams.flush(work.stream)

    def _step_failed(self, host: EngineHost, rows: Iterable[int], error: Exception) -> None:
        """The whole step failed: everyone in it is told, the engine goes on, until it is enough."""
        host.failures += 1
        failure = _failure("the engine failed", error)
        for run_id in rows:
            work = self._streams.work(run_id)
            if work is not None:
                self._streams.fail(work.stream, failure)
        if host.failures >= self._config.max_failures:
            host.broken = True
            gone = VersionUnavailable(
                f"version {host.key[0]} failed {host.failures} times in a row"
            )
            for stream in self._streams:
                if (stream.request.version, stream.request.profile) == host.key:
                    self._streams.fail(stream, gone)

    def _remove_drained(self) -> None:
        for version, done in tuple(self._removals):
            keys = [key for key in self._hosts if key[0] == version]
            if any(self._streams.users[key] for key in keys):
                continue
            for key in keys:
                self._scheduler.engine_remove(key)
                self._hosts.pop(key).close()
            self._removals.remove((version, done))
            done.set_result(None)


def _failure(what: str, error: Exception) -> SynthesisFailed:
    """The request's own error for an exception of an engine; its text may hold a tenant's."""
    failure = SynthesisFailed(f"{what}: {type(error).__name__}")
    failure.__cause__ = error
    return failure
