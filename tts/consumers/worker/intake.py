"""From a worker's request stream to its engine core, and from the core's events to replies."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

import structlog

from tts.consumers.worker.ledger import Entry, Ledger
from tts.engine.errors import (
    Draining,
    EngineError,
    QueueFull,
    SynthesisFailed,
    VersionUnavailable,
)
from tts.engine.event import (
    EngineEvent,
    FinishReason,
    SpeechFinished,
    SpeechStarted,
    StageTimes,
)
from tts.engine.request import Profile, SpeechRequest
from tts.gateway.local import SpeechCore
from tts.gateway.wire import (
    CancelSent,
    CreditGranted,
    GatewayDied,
    InputEnded,
    Open,
    SegmentSent,
    WireError,
    WorkerMessage,
    event_encode,
    worker_message_decode,
)

log = structlog.get_logger(__name__)

RETRY_AFTER_DRAINING = 1.0
RETRY_AFTER_FULL = 1.0
RETRY_AFTER_LOADING = 5.0
QUEUE_SECONDS_LEAST = 1.0
"""A request whose engine has just been loaded may wait for its turn for this long at least."""


class EngineSource(Protocol):
    """What the intake asks about engines."""

    def lease(self, version: str, profile: Profile) -> bool:
        """Keep it for a request; False where it begins to load instead.

        Raises VersionUnavailable. The answer to a load that was begun comes by
        `Intake.engine_ready` or `Intake.engine_failed`.
        """

    def release(self, version: str, profile: Profile) -> None:
        """The request that had a lease is over."""


class Intake:
    """The requests of this worker, on the event loop. `reply(gateway_id, message)` returns at once.

    Messages may arrive twice (see StreamWriter): openings are told by request
    and attempt, segments by index, credit is a total.
    """

    def __init__(
        self,
        core: SpeechCore,
        engines: EngineSource,
        reply: Callable[[str, bytes], None],
        *,
        max_requests: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._core = core
        self._engines = engines
        self._reply = reply
        self._max_requests = max_requests
        self._clock = clock
        self.requests = Ledger(self._ended)
        self.draining = False

    # From the request stream

    def message(self, raw: bytes) -> None:
        """Take one message; what is malformed is dropped, and refused where it says whose it is."""
        try:
            message = worker_message_decode(raw)
        except WireError as error:
            log.warning("request_dropped", error=str(error), request_id=error.request_id)
            self._malformed(error)
            return
        self._take(message)

    def _take(self, message: WorkerMessage) -> None:
        match message:
            case Open():
                self._open(message)
            case SegmentSent():
                self._segment(message)
            case InputEnded():
                entry = self.requests.find(message.request_id, message.attempt)
                if entry is not None and not entry.input_over:
                    entry.input_over = True
                    if entry.held is None:
                        self._core.end_input(message.request_id, message.attempt)
            case CreditGranted():
                self._credit(message)
            case CancelSent():
                entry = self.requests.find(message.request_id, message.attempt)
                if entry is not None:
                    self._drop(entry)
            case GatewayDied():
                self.gateway_lost(message.gateway_id)

    def _open(self, message: Open) -> None:
        request = message.request
        if self.requests.knows((message.gateway_id, message.serial), request.request_id):
            return
        known = self.requests.get(request.request_id)
        try:
            if known is not None:
                self._supersede(known, request)
            held = self._admit(request)
        except EngineError as error:
            self._refuse(message.gateway_id, request.request_id, request.attempt, error)
            return
        entry = Entry(message.gateway_id, request, self._clock(), message.serial)
        entry.held, entry.leased = ([], False) if held else (None, True)
        self.requests.add(entry)
        if not held:
            self._core.submit(request)

    def _supersede(self, known: Entry, request: SpeechRequest) -> None:
        """Make way for a newer attempt; raises QueueFull for one that is not newer."""
        if known.request.attempt >= request.attempt:
            raise QueueFull("this request is under way already", retry_after=RETRY_AFTER_FULL)
        self._drop(known)
        # What the core still says of the older attempt finds no entry and goes nowhere.
        self.requests.forget(known)

    def _admit(self, request: SpeechRequest) -> bool:
        """Whether the request must be held until its engine is loaded; raises EngineError."""
        if self.draining:
            raise Draining("the worker is stopping", retry_after=RETRY_AFTER_DRAINING)
        if len(self.requests) >= self._max_requests:
            raise QueueFull("the worker has all it can take", retry_after=RETRY_AFTER_FULL)
        return not self._engines.lease(request.version, request.profile)

    def _segment(self, message: SegmentSent) -> None:
        entry = self.requests.find(message.request_id, message.attempt)
        if entry is None or message.segment.index < entry.next_segment:
            return
        entry.next_segment = message.segment.index + 1
        if entry.held is None:
            self._core.append(message.request_id, message.attempt, message.segment)
        else:
            entry.held.append(message.segment)

    def _credit(self, message: CreditGranted) -> None:
        entry = self.requests.find(message.request_id, message.attempt)
        if entry is None or message.total <= entry.granted:
            return
        if entry.held is None:
            self._core.grant(message.request_id, message.attempt, message.total - entry.granted)
        entry.granted = message.total

    def _malformed(self, error: WireError) -> None:
        entry = self.requests.get(error.request_id)
        if entry is not None:
            self._end(entry, SynthesisFailed("a message of the request is malformed"))
        elif error.request_id and error.gateway_id:
            refusal = SynthesisFailed("the request is malformed")
            self._refuse(error.gateway_id, error.request_id, error.attempt, refusal)

    # From the engine loader

    def count(self, version: str) -> int:
        """How many requests of `version` this worker has."""
        return sum(entry.request.version == version for entry in self.requests)

    def engine_ready(self, version: str, profile: Profile) -> None:
        """Give the core what was held for this engine."""
        for entry in self.requests.held(version, profile):
            request = entry.request
            if not self._engines.lease(version, profile):
                continue
            entry.leased = True
            waited = self._clock() - entry.since
            left = max(QUEUE_SECONDS_LEAST, request.max_queue_seconds - waited)
            segments, entry.held = entry.held or [], None
            self._core.submit(replace(request, max_queue_seconds=left))
            for segment in segments:
                self._core.append(request.request_id, request.attempt, segment)
            if entry.granted:
                self._core.grant(request.request_id, request.attempt, entry.granted)
            if entry.input_over:
                self._core.end_input(request.request_id, request.attempt)

    def engine_failed(self, version: str, profile: Profile, error: EngineError) -> None:
        """Refuse what was held for this engine."""
        for entry in self.requests.held(version, profile):
            self._end(entry, error)

    def held_refuse(self, error: EngineError) -> None:
        """Refuse everything whose engine is not loaded yet."""
        for entry in self.requests:
            if entry.held is not None:
                self._end(entry, error)

    def expire(self) -> None:
        """Refuse what has been held for longer than it may wait; called every beat."""
        now = self._clock()
        for entry in self.requests:
            if entry.held is not None and now - entry.since > entry.request.max_queue_seconds:
                error = VersionUnavailable(
                    f"version {entry.request.version} is still being loaded",
                    retry_after=RETRY_AFTER_LOADING,
                )
                self._end(entry, error)

    # From the core

    def events(self, events: Sequence[EngineEvent]) -> None:
        """Send a step's events to whom they belong."""
        for event in events:
            entry = self.requests.find(event.request_id, event.attempt)
            if entry is None:
                continue
            if not entry.silent:
                self._reply(entry.gateway_id, event_encode(event))
            if isinstance(event, SpeechStarted):
                entry.started = True
            elif isinstance(event, SpeechFinished):
                self.requests.forget(entry)

    # Ends

    def gateway_lost(self, gateway_id: str) -> None:
        """Free everything that a gateway asked for."""
        for entry in self.requests:
            if entry.gateway_id == gateway_id:
                self._drop(entry)

    def cancel_all(self) -> None:
        """Free everything."""
        for entry in self.requests:
            self._drop(entry)

    def end_all(self, error: EngineError) -> None:
        """Tell every caller that its request ends with `error`."""
        for entry in self.requests:
            self._end(entry, error)

    def _ended(self, entry: Entry) -> None:
        """Release what a request that is over kept."""
        if entry.leased:
            entry.leased = False
            self._engines.release(entry.request.version, entry.request.profile)

    def _drop(self, entry: Entry) -> None:
        """Cancel a request whose caller expects no answer; it counts until the core ends it."""
        entry.silent = True
        if entry.held is not None:
            self.requests.forget(entry)
        else:
            self._core.cancel(entry.request.request_id, entry.request.attempt)

    def _end(self, entry: Entry, error: EngineError) -> None:
        request = entry.request
        if not entry.silent:
            self._refuse(entry.gateway_id, request.request_id, request.attempt, error)
        self._drop(entry)

    def _refuse(self, gateway_id: str, request_id: str, attempt: int, error: EngineError) -> None:
        event = SpeechFinished(
            request_id=request_id,
            attempt=attempt,
            reason=FinishReason.ERROR,
            stages=StageTimes(),
            error_code=error.code,
            message=error.message,
            retry_after=error.retry_after,
        )
        self._reply(gateway_id, event_encode(event))
