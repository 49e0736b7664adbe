"""The engine core: a thread-safe door to the loop, and the thread that turns it."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from math import inf

from tts.engine.config import BatchingConfig, CoreConfig
from tts.engine.errors import EngineError, SynthesisFailed, failure_of
from tts.engine.event import EngineEvent
from tts.engine.loop import CoreLoop
from tts.engine.observer import EngineObserver
from tts.engine.request import Profile, SpeechRequest
from tts.engine.stats import CoreStats
from tts.engine.stream import PostProcessorFactory, default_postprocessor
from tts.engine.traces import trace_of
from tts.engines.base import SpeechEngine
from tts.text.segment import Segment

logger = logging.getLogger(__name__)

Sink = Callable[[Sequence[EngineEvent]], None]
STATS_SECONDS = 0.05
CLOSE_SECONDS = 15.0
RECOVER_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class _Command:
    """`failed` ends what the command is about, should `run` raise what it must not."""

    run: Callable[[], None]
    failed: Callable[[EngineError], object]


class EngineCore:
    """Speech of one worker: commands go in from any thread, events come out by `sink`.

    Commands return at once; every `submit` is answered by events, the last one
    a SpeechFinished, whatever happens. `sink` gets all events of a turn in one
    call, on the core's thread, and must be quick. `turn` may be driven by hand
    instead of `start` (tests, simulations).
    """

    def __init__(
        self,
        config: CoreConfig,
        sink: Sink,
        observer: EngineObserver,
        clock: Callable[[], float] = time.monotonic,
        postprocessor_factory: PostProcessorFactory = default_postprocessor,
    ) -> None:
        self._loop = CoreLoop(config, observer, clock, postprocessor_factory)
        self._sink = sink
        self._clock = clock
        self._changed = threading.Condition()
        self._after_end = threading.Lock()
        self._inbox: deque[_Command] = deque()
        self._kicked = False
        self._stopped = False
        self._thread: threading.Thread | None = None
        self._stats = CoreStats()
        self._stats_at = -inf

    def start(self) -> None:
        """Start the thread."""
        if self._thread is not None:
            raise RuntimeError("the core was started already")
        self._loop.background = _closer_start
        self._thread = threading.Thread(target=self._run, name="engine-core", daemon=True)
        self._thread.start()

    def stop(self, drain_seconds: float = 0.0) -> bool:
        """Take nothing new, let what speaks go on for `drain_seconds`, end the rest, free all.

        Blocks until the thread has ended; False if an engine kept it for longer.
        """
        self.drain(drain_seconds)
        if self._thread is None:
            return True
        self._thread.join(drain_seconds + CLOSE_SECONDS)
        return not self._thread.is_alive()

    def submit(self, request: SpeechRequest) -> None:
        """Speak; text follows by `append` and `end_input`."""
        self._post(
            lambda: self._loop.submit(request),
            lambda error: self._loop.submit_failed(request, error),
        )

    def append(self, request_id: str, attempt: int, segment: Segment) -> None:
        """Speak `segment` after those before; ignored unless that attempt is open."""
        self._post_for(request_id, attempt, lambda: self._loop.append(request_id, attempt, segment))

    def end_input(self, request_id: str, attempt: int) -> None:
        """No more segments follow."""
        self._post_for(request_id, attempt, lambda: self._loop.end_input(request_id, attempt))

    def grant(self, request_id: str, attempt: int, samples: int) -> None:
        """Allow `samples` more to be sent."""
        self._post_for(request_id, attempt, lambda: self._loop.grant(request_id, attempt, samples))

    def cancel(self, request_id: str, attempt: int) -> None:
        """End the request; it frees what it holds within one turn."""
        self._post_for(request_id, attempt, lambda: self._loop.cancel(request_id, attempt))

    def engine_add(
        self, version: str, profile: Profile, engine: SpeechEngine, batching: BatchingConfig
    ) -> Future[None]:
        """Take requests for a loaded engine; the future fails with ValueError if it is there.

        To cancel the future changes nothing.
        """
        done: Future[None] = Future()
        done.set_running_or_notify_cancel()

        def add() -> None:
            try:
                self._loop.engine_add((version, profile), engine, batching)
            except ValueError as error:
                done.set_exception(error)
            else:
                done.set_result(None)

        self._post(add, done.set_exception)
        return done

    def engine_remove(self, version: str, profile: Profile | None = None) -> Future[None]:
        """Refuse new requests of a version, in all profiles or one; done when the last has ended.

        The engines are closed by then. To cancel the future changes nothing.
        """
        done: Future[None] = Future()
        done.set_running_or_notify_cancel()
        self._post(lambda: self._loop.engine_remove(version, profile, done), done.set_exception)
        return done

    def batching_set(self, version: str, batching: BatchingConfig) -> None:
        """Change a version's settings, in force from the next turn; what runs goes on."""
        self._post(lambda: self._loop.batching_set(version, batching), _nobody)

    def drain(self, seconds: float) -> None:
        """Begin to stop, without waiting for it."""
        self._post(lambda: self._loop.drain(seconds), _nobody)

    def stats(self) -> CoreStats:
        """A recent moment (at most 50 ms old while busy, exact when idle)."""
        return self._stats

    def notify(self) -> None:
        """Something arrived in an engine; what `SpeechEngine.load` gets as its `notify`."""
        with self._changed:
            self._kicked = True
            self._changed.notify()

    def turn(self) -> float:
        """Carry out the commands, compute once, deliver; returns when to turn again."""
        self._carry_out()
        wake = self._loop.turn()
        if self._loop.drained:
            self._shut()
            return inf
        now = self._clock()
        if wake > now or now - self._stats_at >= STATS_SECONDS:
            self._stats, self._stats_at = self._loop.stats(), now
        self._deliver()
        return wake

    def is_empty(self) -> bool:
        """Whether nothing of any request is left; only between turns driven by hand."""
        return self._loop.is_empty() and not self._inbox

    def _post_for(self, request_id: str, attempt: int, run: Callable[[], None]) -> None:
        self._post(run, lambda error: self._loop.fail(request_id, attempt, error))

    def _post(self, run: Callable[[], None], failed: Callable[[EngineError], object]) -> None:
        command = _Command(run, failed)
        with self._changed:
            if not self._stopped:
                self._inbox.append(command)
                self._kicked = True
                self._changed.notify()
                return
        # The loop is at its end: nobody else uses it, and it refuses whatever comes.
        with self._after_end:
            self._inbox.append(command)
            self._carry_out()
            self._loop.close()
            self._deliver()

    def _carry_out(self) -> None:
        """All commands that are there; one that fails ends its own request, and no other's."""
        for _ in range(len(self._inbox)):
            command = self._inbox.popleft()
            try:
                command.run()
            except Exception as error:  # noqa: BLE001 - those behind it are carried out all the same
                logger.error("a command of the engine core failed\n%s", trace_of(error))
                command.failed(failure_of("the engine core failed", error))

    def _shut(self) -> None:
        """Free the engines and answer the commands that came too late for a turn."""
        with self._after_end:
            with self._changed:
                self._stopped = True
            self._carry_out()
            self._loop.close()
            self._stats = self._loop.stats()
            self._deliver()

    def _run(self) -> None:
        while not self._stopped:
            with self._changed:
                self._kicked = False
            try:
                wake = self.turn()
            except Exception as error:  # noqa: BLE001 - no request may be left without an end
                trace = trace_of(error)
                logger.error("the engine core failed; every request is ended\n%s", trace)
                self._loop.abort(SynthesisFailed("the engine core failed"))
                self._deliver()
                wake = self._clock() + RECOVER_SECONDS
            self._sleep(wake)

    def _sleep(self, until: float) -> None:
        with self._changed:
            while not self._kicked and not self._stopped:
                left = until - self._clock()
                if left <= 0.0:
                    return
                self._changed.wait(None if left == inf else left)

    def _deliver(self) -> None:
        events = self._loop.take_events()
        if events:
            try:
                self._sink(events)
            except Exception as error:  # noqa: BLE001 - the sink's own
                trace = trace_of(error)
                logger.error("the sink failed; %d events are lost\n%s", len(events), trace)


def _nobody(error: EngineError) -> None:
    """No request waits for this command."""


def _closer_start(work: Callable[[], None]) -> None:
    """An engine's end waits for its threads; the streams of others go on meanwhile."""
    threading.Thread(target=work, name="engine-closer", daemon=True).start()
