"""What a worker makes of the messages that reach it."""

from typing import Any

import msgspec
import pytest

from tests.scripted_core import ScriptedCore, speech_request, text_segments
from tts.consumers.worker.intake import Intake
from tts.engine.errors import EngineError, ErrorCode, VersionUnavailable
from tts.engine.event import FinishReason, SpeechFinished
from tts.engine.request import Profile, SpeechRequest
from tts.gateway.wire import (
    CancelSent,
    Chunk,
    CreditGranted,
    Finished,
    GatewayDied,
    GatewayMessage,
    InputEnded,
    Open,
    SegmentSent,
    WorkerMessage,
    gateway_message_decode,
    message_encode,
)


class Engines:
    """Says what the test says."""

    def __init__(self) -> None:
        self.loaded = True
        self.error: EngineError | None = None

        self.leases = 0

    def lease(self, version: str, profile: Profile) -> bool:
        if self.error is not None:
            raise self.error
        self.leases += self.loaded
        return self.loaded

    def release(self, version: str, profile: Profile) -> None:
        self.leases -= 1


class Bench:
    """An intake with a scripted core, a clock by hand, and the replies it sent."""

    def __init__(self, max_requests: int = 4) -> None:
        self.now = 0.0
        self.engines = Engines()
        self.replies: list[tuple[str, GatewayMessage]] = []
        self.core = ScriptedCore(lambda events: self.intake.events(events))
        self.intake = Intake(
            self.core, self.engines, self._reply, max_requests=max_requests, clock=lambda: self.now
        )

    def _reply(self, gateway_id: str, message: bytes) -> None:
        self.replies.append((gateway_id, gateway_message_decode(message)))

    def send(self, *messages: WorkerMessage) -> None:
        for message in messages:
            self.intake.message(message_encode(message))

    def open(self, request: SpeechRequest, *, gateway: str = "g1", serial: int = 1) -> None:
        self.send(Open(gateway, request, serial))

    @property
    def finished(self) -> list[SpeechFinished]:
        return [reply.event for _, reply in self.replies if isinstance(reply, Finished)]


@pytest.fixture
def bench() -> Bench:
    return Bench()


SEGMENT = text_segments("one")[0]


def test_a_request_is_spoken_and_its_replies_go_to_its_gateway(bench: Bench) -> None:
    bench.open(speech_request())
    bench.send(SegmentSent("r1", 1, SEGMENT), InputEnded("r1", 1))
    assert {gateway for gateway, _ in bench.replies} == {"g1"}
    assert bench.finished[0].reason is FinishReason.COMPLETED
    assert len(bench.intake.requests) == 0
    assert bench.intake.requests.idle.is_set()


def test_messages_that_arrive_twice_count_once(bench: Bench) -> None:
    bench.core.held = True
    request = speech_request()
    for _ in range(2):
        bench.open(request)
        bench.send(SegmentSent("r1", 1, SEGMENT), CreditGranted("r1", 1, 500), InputEnded("r1", 1))
    job = bench.core.jobs["r1", 1]
    assert (len(job.segments), job.granted) == (1, 500)
    bench.core.release()
    bench.open(request)
    assert len(bench.finished) == 1
    assert sum(isinstance(reply, Chunk) for _, reply in bench.replies) == 1


def test_a_request_id_may_be_used_again_after_its_end(bench: Bench) -> None:
    for serial in (1, 2):
        bench.open(speech_request(), serial=serial)
        bench.send(SegmentSent("r1", 1, SEGMENT), InputEnded("r1", 1))
    assert [end.reason for end in bench.finished] == [FinishReason.COMPLETED] * 2


def test_a_newer_attempt_replaces_an_older(bench: Bench) -> None:
    bench.core.held = True
    bench.open(speech_request())
    bench.open(speech_request(attempt=2), gateway="g2", serial=2)
    assert bench.core.cancelled == [("r1", 1)]
    bench.send(SegmentSent("r1", 1, SEGMENT), SegmentSent("r1", 2, SEGMENT), InputEnded("r1", 2))
    bench.core.release()
    assert [end.attempt for end in bench.finished] == [2]


def test_a_second_opening_of_the_same_attempt_is_refused(bench: Bench) -> None:
    bench.core.held = True
    bench.open(speech_request())
    bench.open(speech_request(), gateway="g2", serial=2)
    assert [(gateway, reply.event.error_code) for gateway, reply in bench.replies
            if isinstance(reply, Finished)] == [("g2", ErrorCode.QUEUE_FULL)]  # fmt: skip


def test_requests_beyond_the_bound_are_refused_at_once(bench: Bench) -> None:
    bench.core.held = True
    for number in range(5):
        bench.open(speech_request(f"r{number}"), serial=number)
    assert [(end.request_id, end.error_code) for end in bench.finished] == [
        ("r4", ErrorCode.QUEUE_FULL)
    ]


def test_a_draining_worker_refuses(bench: Bench) -> None:
    bench.intake.draining = True
    bench.open(speech_request())
    assert bench.finished[0].error_code is ErrorCode.DRAINING
    assert not bench.core.jobs


def test_what_comes_while_the_engine_loads_is_held_and_then_spoken(bench: Bench) -> None:
    bench.engines.loaded = False
    bench.open(speech_request())
    bench.send(SegmentSent("r1", 1, SEGMENT), CreditGranted("r1", 1, 500))
    assert not bench.core.jobs
    bench.now = 4.0
    bench.intake.engine_ready("tone@1", Profile.HQ)
    assert not bench.core.jobs
    bench.core.held = True
    bench.engines.loaded = True
    bench.intake.engine_ready("tone@1", Profile.REALTIME)
    job = bench.core.jobs["r1", 1]
    assert (job.request.max_queue_seconds, job.granted, len(job.segments)) == (6.0, 500, 1)
    bench.send(InputEnded("r1", 1))
    bench.core.release()
    assert bench.finished[0].reason is FinishReason.COMPLETED


def test_what_was_held_for_all_its_time_still_gets_a_moment_for_its_turn(bench: Bench) -> None:
    bench.core.held = True
    bench.engines.loaded = False
    bench.open(speech_request())
    bench.now = 60.0
    bench.engines.loaded = True
    bench.intake.engine_ready("tone@1", Profile.REALTIME)
    assert bench.core.jobs["r1", 1].request.max_queue_seconds == 1.0


def test_a_replaced_attempt_whose_successor_is_refused_leaves_the_worker_idle(
    bench: Bench,
) -> None:
    bench.core.held = True
    bench.open(speech_request())
    # The real core answers a cancellation with its next turn.
    bench.core.cancel = lambda request_id, attempt: None  # type: ignore[method-assign]
    bench.intake.draining = True
    bench.open(speech_request(attempt=2), serial=2)
    assert bench.finished[-1].error_code is ErrorCode.DRAINING
    assert bench.intake.requests.idle.is_set()


def test_a_load_that_fails_refuses_with_its_reason(bench: Bench) -> None:
    bench.engines.loaded = False
    bench.open(speech_request())
    bench.intake.engine_failed("tone@1", Profile.REALTIME, VersionUnavailable("no such shard"))
    assert (bench.finished[0].error_code, bench.finished[0].message) == (
        ErrorCode.VERSION_UNAVAILABLE,
        "no such shard",
    )
    assert len(bench.intake.requests) == 0


def test_a_load_that_takes_too_long_refuses_at_the_deadline(bench: Bench) -> None:
    bench.engines.loaded = False
    bench.open(speech_request(max_queue_seconds=3.0))
    bench.now = 2.9
    bench.intake.expire()
    assert not bench.finished
    bench.now = 3.1
    bench.intake.expire()
    assert bench.finished[0].error_code is ErrorCode.VERSION_UNAVAILABLE
    assert bench.intake.requests.idle.is_set()


def test_a_version_that_failed_is_refused_at_once(bench: Bench) -> None:
    bench.engines.error = VersionUnavailable("no such shard", retry_after=9.0)
    bench.open(speech_request())
    assert bench.finished[0].retry_after == 9.0


def test_cancel_frees_without_a_reply(bench: Bench) -> None:
    bench.core.held = True
    bench.open(speech_request())
    bench.send(SegmentSent("r1", 1, SEGMENT))
    bench.send(CancelSent("r1", 1))
    assert not bench.core.jobs
    assert not bench.finished
    assert len(bench.intake.requests) == 0


def test_cancel_of_another_attempt_does_nothing(bench: Bench) -> None:
    bench.core.held = True
    bench.open(speech_request(attempt=2))
    bench.send(CancelSent("r1", 1))
    assert list(bench.core.jobs) == [("r1", 2)]


def test_a_dead_gateway_frees_its_requests_only(bench: Bench) -> None:
    bench.core.held = True
    bench.open(speech_request("r1"))
    bench.open(speech_request("r2"), gateway="g2", serial=2)
    bench.send(GatewayDied("g1"))
    assert list(bench.core.jobs) == [("r2", 1)]
    assert bench.intake.requests.gateways == {"g2": 1}


def test_a_malformed_opening_is_answered_where_it_says_whose_it_is(bench: Bench) -> None:
    body: dict[str, Any] = {"request_id": "r1", "attempt": 3, "speed": "fast"}
    bench.intake.message(msgspec.msgpack.encode(["open", "g1", body, 1]))
    bench.intake.message(b"\xc1")
    assert [(end.request_id, end.attempt, end.error_code) for end in bench.finished] == [
        ("r1", 3, ErrorCode.SYNTHESIS_FAILED)
    ]


def test_a_malformed_segment_ends_its_request(bench: Bench) -> None:
    bench.core.held = True
    bench.open(speech_request())
    bench.intake.message(msgspec.msgpack.encode(["segment", "r1", 1, {"index": "0"}]))
    assert bench.finished[0].error_code is ErrorCode.SYNTHESIS_FAILED
    assert not bench.core.jobs
