"""One turn of computing: prepare what starts, step the engines, deliver, keep errors apart."""

import logging
from collections.abc import Callable, Iterable
from zlib import crc32

from tts.engine.config import CoreConfig
from tts.engine.errors import EngineError, NothingToSpeak, VersionUnavailable, failure_of
from tts.engine.host import EngineHost
from tts.engine.job import EngineKey
from tts.engine.observer import EngineObserver, StepStats
from tts.engine.request import SpeechRequest
from tts.engine.scheduler import Scheduler, Start
from tts.engine.streams import Streams, Work
from tts.engine.traces import trace_of
from tts.engines.base import EngineKind, StepResult, SynthesisParams

logger = logging.getLogger(__name__)


class Computing:
    """Calls the engines; an error reaches exactly the requests that it concerns."""

    def __init__(
        self,
        config: CoreConfig,
        scheduler: Scheduler,
        streams: Streams,
        observer: EngineObserver,
        clock: Callable[[], float],
    ) -> None:
        self._config = config
        self._scheduler = scheduler
        self._streams = streams
        self._observer = observer
        self._clock = clock
        self._timed: list[tuple[EngineKey, int, float]] = []

    def account(self, period: float) -> None:
        """Learn what the steps of the last turn cost; it took `period` in all.

        A listener waits for the whole turn, so scheduling, tokenising and sending
        count too, shared by the engines in proportion to their steps.
        """
        stepping = sum(seconds for _, _, seconds in self._timed)
        rest = max(0.0, period - stepping)
        for key, rows, seconds in self._timed:
            share = seconds / stepping if stepping else 1.0 / len(self._timed)
            self._scheduler.measured(key, rows, seconds + rest * share)
        self._timed.clear()

    def start(self, starts: Iterable[Start]) -> bool:
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
        work = self._streams.begin(start)
        # A segment may be computed twice (preemption), a request twice (another worker):
        # both must give the same samples, so there is always a seed.
        seed = request.seed if request.seed is not None else crc32(request.request_id.encode())
        params = SynthesisParams(request.profile, seed, request.style)
        began = self._clock()
        try:
            utterance = work.host.prepare(
                start.run_id, stream.segment(start.segment_index), request.voice, params
            )
        except NothingToSpeak as error:
            self._finish_run(work, silent=error)
        except EngineError as error:
            self._streams.fail(stream, error)
        except Exception as error:  # noqa: BLE001 - one bad text must not end the loop
            key, trace = work.host.key, trace_of(error)
            logger.error("engine %s failed to prepare a segment\n%s", key, trace)
            self._streams.fail(stream, failure_of("preparing the text failed", error))
        else:
            self._scheduler.prepared(start.run_id, utterance.expected_seconds, utterance.cost_kind)
        stream.prepare_seconds += self._clock() - began

    def step(self, host: EngineHost, run_ids: Iterable[int]) -> bool:
        """Advance an engine once; says whether there is more to do at once."""
        rows = [run_id for run_id in run_ids if run_id in host]
        if not rows:
            return True
        began = self._clock()
        try:
            results = host.step(rows)
        except Exception as error:  # noqa: BLE001 - a failed step must not end the loop
            trace = trace_of(error)
            logger.error("a step of engine %s failed\n%s", host.key, trace)
            self._step_failed(host, rows, error)
            return True
        host.failures = 0
        stepped = self._clock()
        audio_seconds = sum(len(r.audio) for _, r in results) / host.traits.sample_rate
        ended = self._deliver(results)
        steps = host.traits.kind is EngineKind.STEP
        # Rows that fail before they compute, or wait, cost a step nothing.
        computed = sum(result.error is None for _, result in results) if steps else len(rows)
        if steps and computed:
            self._timed.append((host.key, computed, self._clock() - began))
        if computed and (steps or results):
            version, profile = host.key
            self._observer.step_finished(
                StepStats(version, profile, computed, stepped - began, audio_seconds)
            )
        return ended or (steps and computed > 0)

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
            if result.notice:
                _notice_log(stream.request, result.notice)
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
        failure = failure_of("the engine failed", error)
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


def _notice_log(request: SpeechRequest, notice: str) -> None:
    logger.warning(
        "%s (request %s, tenant %s, version %s, profile %s)",
        notice, request.request_id, request.tenant_id, request.version, request.profile,
    )  # fmt: skip
