"""What a request's stream needs of whatever takes its messages to a worker."""

from collections.abc import Collection
from typing import Protocol

from tts.engine.errors import EngineError, ErrorCode
from tts.engine.event import SpeechFinished
from tts.engine.request import SpeechRequest
from tts.gateway.placement import WorkerRef
from tts.gateway.wire import RequestMessage

ELSEWHERE = frozenset(
    {
        ErrorCode.QUEUE_FULL,
        ErrorCode.DRAINING,
        ErrorCode.DEADLINE_UNATTAINABLE,
        ErrorCode.VERSION_UNAVAILABLE,
    }
)
"""Refusals of one worker that another may not give."""


class Carrier(Protocol):
    """Takes messages to a worker; every method returns at once."""

    gateway_id: str

    def place(self, request: SpeechRequest, tried: Collection[WorkerRef]) -> WorkerRef:
        """Choose a worker; raises VersionUnavailable, Draining."""

    def send(self, worker: WorkerRef, message: RequestMessage) -> None:
        """Send, in order."""

    def release(self, request_id: str) -> None:
        """The request is over: forget it."""


class Refusal(EngineError):
    """A worker's refusal on its way past other workers, with the event that said it."""

    def __init__(self, event: SpeechFinished) -> None:
        super().__init__(event.message, retry_after=event.retry_after)
        self.event = event
