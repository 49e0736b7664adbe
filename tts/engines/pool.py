"""Threads for UTTERANCE engines: whole segments computed side by side, results collected.

An engine's `step` submits what is new and returns `collect()`; its `release`
calls `cancel`. Nothing here waits for a computation except `close`.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tts.engine.errors import EngineError, failure_of
from tts.engine.traces import trace_of
from tts.engines.base import Samples, StepResult

logger = logging.getLogger(__name__)

Emit = Callable[[Samples], None]
NO_AUDIO: Samples = np.zeros(0, dtype=np.float32)


class UtteranceCancelled(Exception):
    """Raised by `emit` and `CancelToken.check` to unwind a run that nobody wants any more."""


class CancelToken:
    """Tells a run that it is no longer wanted."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cancelled = False
        self._callbacks: list[Callable[[], None]] = []

    @property
    def cancelled(self) -> bool:
        """Whether the utterance was cancelled; never goes back to False."""
        return self._cancelled

    def check(self) -> None:
        """Raise UtteranceCancelled if it was; for runs made of several calls."""
        if self._cancelled:
            raise UtteranceCancelled

    def on_cancel(self, callback: Callable[[], None]) -> None:
        """Call `callback` once when cancelled, at once if it already is.

        It runs on the cancelling thread (the engine core's), so it must be
        quick, thread-safe and must not raise: setting a flag that ends a native
        call is what it is for.
        """
        with self._lock:
            if not self._cancelled:
                self._callbacks.append(callback)
                return
        callback()

    def cancel(self) -> None:
        """Cancel; callbacks run on this thread. Idempotent."""
        with self._lock:
            self._cancelled = True
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()


Run = Callable[[Emit, CancelToken], None]


@dataclass(slots=True)
class _Task:
    """One utterance; `mark` is when its computing time was last accounted."""

    utterance_id: int
    run: Run
    token: CancelToken = field(default_factory=CancelToken)
    mark: float = 0.0


class UtterancePool:
    """Runs utterances on `threads` threads, first come first served.

    `notify` is called, from a pool thread, whenever `collect` would return
    something new. All methods may be called from any thread. The threads are
    daemons: a native call that ignores its cancellation cannot keep the process.
    """

    def __init__(
        self,
        threads: int,
        notify: Callable[[], None],
        *,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        if threads < 1:
            raise ValueError(f"threads must be at least 1, not {threads}")
        self._notify = notify
        self._clock = clock
        self._changed = threading.Condition()
        self._waiting: deque[_Task] = deque()
        self._tasks: dict[int, _Task] = {}
        self._results: list[StepResult] = []
        self._closed = False
        self._threads = [
            threading.Thread(target=self._work, name=f"utterance-{index}", daemon=True)
            for index in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, utterance_id: int, run: Run) -> None:
        """Compute `run(emit, token)` on a pool thread.

        `emit(audio)` (float32, mono) passes on audio that is ready; when `run`
        returns the utterance is finished. An exception ends the utterance alone:
        an EngineError is kept, any other becomes SynthesisFailed, chained.
        Raises ValueError for an id that is still running, RuntimeError when closed.
        """
        task = _Task(utterance_id, run)
        with self._changed:
            if self._closed:
                raise RuntimeError("the pool is closed")
            if utterance_id in self._tasks:
                raise ValueError(f"utterance {utterance_id} is already running")
            self._tasks[utterance_id] = task
            self._waiting.append(task)
            self._changed.notify()

    def collect(self) -> list[StepResult]:
        """Everything that arrived since the last call, in order of arrival."""
        with self._changed:
            results, self._results = self._results, []
        return results

    def cancel(self, utterance_id: int) -> None:
        """Forget the utterance: a waiting one never starts, a running one is told to stop.

        Nothing of it is collected afterwards. Unknown ids are ignored.
        """
        with self._changed:
            self._results = [r for r in self._results if r.utterance_id != utterance_id]
            task = self._tasks.pop(utterance_id, None)
            if task is None:
                return
            if task in self._waiting:
                self._waiting.remove(task)
        task.token.cancel()

    def __contains__(self, utterance_id: int) -> bool:
        """Whether the utterance was submitted and has neither finished nor been cancelled."""
        return utterance_id in self._tasks

    def close(self, timeout: float = 10.0) -> None:
        """Cancel everything and wait up to `timeout` seconds for the threads to end."""
        with self._changed:
            self._closed = True
            tasks = list(self._tasks.values())
            self._tasks.clear()
            self._waiting.clear()
            self._results.clear()
            self._changed.notify_all()
        for task in tasks:
            task.token.cancel()
        deadline = time.monotonic() + timeout
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _work(self) -> None:
        while (task := self._next()) is not None:
            error = self._compute(task)
            self._put(task, NO_AUDIO, finished=True, error=error)

    def _next(self) -> _Task | None:
        with self._changed:
            while not self._waiting and not self._closed:
                self._changed.wait()
            return None if self._closed else self._waiting.popleft()

    def _compute(self, task: _Task) -> EngineError | None:
        def emit(audio: Samples) -> None:
            task.token.check()
            if len(audio):
                self._put(task, audio)

        task.mark = self._clock()
        try:
            task.run(emit, task.token)
        except UtteranceCancelled:
            return None
        except EngineError as error:
            return error
        except Exception as error:  # noqa: BLE001 - one bad utterance must not end the thread
            logger.error("an utterance failed\n%s", trace_of(error))
            return failure_of("the engine failed", error)
        return None

    def _put(
        self,
        task: _Task,
        audio: Samples,
        *,
        finished: bool = False,
        error: EngineError | None = None,
    ) -> None:
        now = self._clock()
        spent, task.mark = now - task.mark, now
        with self._changed:
            if self._tasks.get(task.utterance_id) is not task:
                return
            if finished:
                del self._tasks[task.utterance_id]
            self._results.append(
                StepResult(task.utterance_id, audio, finished, error, max(0.0, spent))
            )
        self._notify()
