"""The thread pool of UTTERANCE engines."""

import threading
from collections.abc import Iterator

import numpy as np
import pytest

from tts.engine.errors import NothingToSpeak, SynthesisFailed
from tts.engines.base import StepResult
from tts.engines.pool import CancelToken, Emit, UtterancePool

LIMIT = 10.0


class Collector:
    """A pool and everything it notified of."""

    def __init__(self, threads: int = 2) -> None:
        self.arrived = threading.Semaphore(0)
        self.pool = UtterancePool(threads, self.arrived.release)

    def until_finished(self, *utterance_ids: int) -> list[StepResult]:
        """All results up to the end of the given utterances."""
        results: list[StepResult] = []
        while not set(utterance_ids) <= {r.utterance_id for r in results if r.finished}:
            assert self.arrived.acquire(timeout=LIMIT), "nothing arrived"
            results += self.pool.collect()
        return results


@pytest.fixture
def collector() -> Iterator[Collector]:
    collector = Collector()
    yield collector
    collector.pool.close()


def tone(value: float, samples: int = 4) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.full(samples, value, dtype=np.float32)


def test_audio_arrives_in_order_and_then_the_end(collector: Collector) -> None:
    def run(emit: Emit, token: CancelToken) -> None:
        emit(tone(0.1))
        emit(tone(0.2))

    collector.pool.submit(7, run)
    results = collector.until_finished(7)
    assert [float(r.audio[0]) for r in results[:2]] == pytest.approx([0.1, 0.2])
    assert [r.finished for r in results] == [False, False, True]
    assert 7 not in collector.pool


def test_two_utterances_are_computed_side_by_side(collector: Collector) -> None:
    both = threading.Barrier(2, timeout=LIMIT)

    def run(emit: Emit, token: CancelToken) -> None:
        both.wait()
        emit(tone(1.0))

    collector.pool.submit(1, run)
    collector.pool.submit(2, run)
    assert not [r for r in collector.until_finished(1, 2) if r.error]


def test_an_exception_becomes_the_utterances_own_error(collector: Collector) -> None:
    def bad(emit: Emit, token: CancelToken) -> None:
        raise KeyError("x")

    def good(emit: Emit, token: CancelToken) -> None:
        emit(tone(0.5))

    def silent(emit: Emit, token: CancelToken) -> None:
        raise NothingToSpeak("no phonemes")

    for utterance_id, run in enumerate((bad, good, silent)):
        collector.pool.submit(utterance_id, run)
    ends = {r.utterance_id: r.error for r in collector.until_finished(0, 1, 2) if r.finished}
    assert isinstance(ends[0], SynthesisFailed)
    assert isinstance(ends[0].__cause__, KeyError)
    assert ends[1] is None
    assert isinstance(ends[2], NothingToSpeak)


def test_cancelling_a_run_calls_its_hook_and_drops_its_audio(collector: Collector) -> None:
    running, ended = threading.Event(), threading.Event()
    unwound = threading.Event()

    def run(emit: Emit, token: CancelToken) -> None:
        token.on_cancel(ended.set)
        emit(tone(0.1))
        running.set()
        assert ended.wait(LIMIT)
        try:
            emit(tone(0.2))
        finally:
            unwound.set()

    collector.pool.submit(1, run)
    assert running.wait(LIMIT)
    collector.pool.cancel(1)
    assert unwound.wait(LIMIT)
    assert collector.pool.collect() == []
    collector.pool.submit(1, lambda emit, token: emit(tone(0.9)))
    assert [float(r.audio[0]) for r in collector.until_finished(1)[:1]] == pytest.approx([0.9])


def test_a_cancelled_utterance_that_waits_never_starts() -> None:
    collector = Collector(threads=1)
    gate = threading.Event()
    started: list[int] = []

    def held(emit: Emit, token: CancelToken) -> None:
        started.append(1)
        assert gate.wait(LIMIT)

    collector.pool.submit(1, held)
    collector.pool.submit(2, lambda emit, token: started.append(2))
    collector.pool.submit(3, lambda emit, token: started.append(3))
    collector.pool.cancel(2)
    gate.set()
    collector.until_finished(1, 3)
    assert started == [1, 3]
    collector.pool.close()


def test_a_late_hook_runs_at_once_and_cancel_is_idempotent() -> None:
    token, calls = CancelToken(), []
    token.on_cancel(lambda: calls.append("early"))
    token.cancel()
    token.cancel()
    token.on_cancel(lambda: calls.append("late"))
    assert calls == ["early", "late"]
    assert token.cancelled


def test_compute_seconds_are_the_time_since_the_last_result() -> None:
    ticks = iter([10.0, 10.5, 12.0])
    arrived = threading.Semaphore(0)
    pool = UtterancePool(1, arrived.release, clock=lambda: next(ticks))
    pool.submit(1, lambda emit, token: emit(tone(0.1)))
    assert arrived.acquire(timeout=LIMIT)
    assert arrived.acquire(timeout=LIMIT)
    assert [r.compute_seconds for r in pool.collect()] == [0.5, 1.5]
    pool.close()


def test_misuse_is_refused(collector: Collector) -> None:
    gate = threading.Event()

    def held(emit: Emit, token: CancelToken) -> None:
        assert gate.wait(LIMIT)

    collector.pool.submit(1, held)
    with pytest.raises(ValueError, match="already running"):
        collector.pool.submit(1, lambda emit, token: None)
    gate.set()
    with pytest.raises(ValueError, match="at least 1"):
        UtterancePool(0, lambda: None)
    collector.pool.close()
    with pytest.raises(RuntimeError, match="closed"):
        collector.pool.submit(2, lambda emit, token: None)


def test_close_ends_the_threads_and_what_runs() -> None:
    before = threading.active_count()
    collector = Collector(threads=3)
    running, stop = threading.Event(), threading.Event()

    def run(emit: Emit, token: CancelToken) -> None:
        token.on_cancel(stop.set)
        running.set()
        assert stop.wait(LIMIT)

    collector.pool.submit(1, run)
    assert running.wait(LIMIT)
    collector.pool.close()
    assert stop.is_set()
    assert threading.active_count() == before
