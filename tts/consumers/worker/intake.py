"""From a worker's request stream to its engine core, and from the core's events to replies."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import structlog

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
from tts.text.segment import Segment

log = structlog.get_logger(__name__)

REMEMBERED = 4096
"""Requests that have ended and whose opening, should it arrive again, is passed over."""
QUEUE_SECONDS_LEAST = 1.0
"""A request whose engine has just been loaded may wait for its turn for this long at least."""
RETRY_AFTER_DRAINING = 1.0
RETRY_AFTER_FULL = 1.0
RETRY_AFTER_LOADING = 5.0


class EngineSource(Protocol):
    """What the intake asks about engines."""

    def ready(self, version: str, profile: Profile) -> bool:
        """Whether it can be spoken with now; begins to load it otherwise.

        Raises VersionUnavailable. The answer to a load that was begun comes by
        `Intake.engine_ready` or `Intake.engine_failed`.
        """


@dataclass(slots=True)
class _Entry:
    """A request that this worker has. `held` are its segments while its engine loads."""

    gateway_id: str
    request: SpeechRequest
    since: float
    serial: int
    held: list[Segment] | None = None
    next_segment: int = 0
    input_over: bool = False
    granted: int = 0
    started: bool = False
    silent: bool = False


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
        self._entries: dict[str, _Entry] = {}
        self._ended: OrderedDict[tuple[str, int], None] = OrderedDict()
        self.draining = False
        self.idle = asyncio.Event()
        self.idle.set()

    # What the heartbeat tells

    @property
    def active(self) -> int:
        """Requests that have been started."""
        return sum(entry.started for entry in self._entries.values())

    @property
    def waiting(self) -> int:
        """Requests that wait, for their turn or their engine."""
        return len(self._entries) - self.active

    @property
    def total(self) -> int:
        """All requests that this worker has."""
        return len(self._entries)

    @property
    def gateways(self) -> set[str]:
        """The gateways whose requests this worker has."""
        return {entry.gateway_id for entry in self._entries.values() if not entry.silent}

    def count(self, version: str) -> int:
        """How many requests of `version` this worker has."""
        return sum(entry.request.version == version for entry in self._entries.values())

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
                entry = self._entry(message.request_id, message.attempt)
                if entry is not None and not entry.input_over:
                    entry.input_over = True
                    if entry.held is None:
                        self._core.end_input(message.request_id, message.attempt)
            case CreditGranted():
                self._credit(message)
            case CancelSent():
                if self._entry(message.request_id, message.attempt) is not None:
                    self._drop(message.request_id)
            case GatewayDied():
                self.gateway_lost(message.gateway_id)

    def _open(self, message: Open) -> None:
        request, opening = message.request, (message.gateway_id, message.serial)
        known = self._entries.get(request.request_id)
        if opening in self._ended or (known and opening == (known.gateway_id, known.serial)):
            return
        try:
            if known is not None:
                self._supersede(known, request)
            held = self._admit(request)
        except EngineError as error:
            self._refuse(message.gateway_id, request.request_id, request.attempt, error)
            return
        self._entries[request.request_id] = _Entry(
            message.gateway_id, request, self._clock(), message.serial, held=[] if held else None
        )
        self.idle.clear()
        if not held:
            self._core.submit(request)

    def _supersede(self, known: _Entry, request: SpeechRequest) -> None:
        """Make way for a newer attempt; raises QueueFull for one that is not newer."""
        if known.request.attempt >= request.attempt:
            raise QueueFull("this request is under way already", retry_after=RETRY_AFTER_FULL)
        self._drop(request.request_id)
        # What the core still says of the older attempt finds no entry and goes nowhere.
        if request.request_id in self._entries:
            self._forget(request.request_id)

    def _admit(self, request: SpeechRequest) -> bool:
        """Whether the request must be held until its engine is loaded; raises EngineError."""
        if self.draining:
            raise Draining("the worker is stopping", retry_after=RETRY_AFTER_DRAINING)
        if len(self._entries) >= self._max_requests:
            raise QueueFull("the worker has all it can take", retry_after=RETRY_AFTER_FULL)
        return not self._engines.ready(request.version, request.profile)

    def _segment(self, message: SegmentSent) -> None:
        entry = self._entry(message.request_id, message.attempt)
        if entry is None or message.segment.index < entry.next_segment:
            return
        entry.next_segment = message.segment.index + 1
        if entry.held is None:
            self._core.append(message.request_id, message.attempt, message.segment)
        else:
            entry.held.append(message.segment)

    def _credit(self, message: CreditGranted) -> None:
        entry = self._entry(message.request_id, message.attempt)
        if entry is None or message.total <= entry.granted:
            return
        if entry.held is None:
            self._core.grant(message.request_id, message.attempt, message.total - entry.granted)
        entry.granted = message.total

    def _entry(self, request_id: str, attempt: int) -> _Entry | None:
        entry = self._entries.get(request_id)
        return entry if entry is not None and entry.request.attempt == attempt else None

    def _malformed(self, error: WireError) -> None:
        entry = self._entries.get(error.request_id)
        if entry is not None:
            self._end(error.request_id, SynthesisFailed("a message of the request is malformed"))
        elif error.request_id and error.gateway_id:
            refusal = SynthesisFailed("the request is malformed")
            self._refuse(error.gateway_id, error.request_id, error.attempt, refusal)

    # From the engine loader

    def engine_ready(self, version: str, profile: Profile) -> None:
        """Give the core what was held for this engine."""
        for entry in list(self._entries.values()):
            request = entry.request
            if entry.held is None or (request.version, request.profile) != (version, profile):
                continue
            waited = self._clock() - entry.since
            left = max(QUEUE_SECONDS_LEAST, request.max_queue_seconds - waited)
            segments, entry.held = entry.held, None
            self._core.submit(replace(request, max_queue_seconds=left))
            for segment in segments:
                self._core.append(request.request_id, request.attempt, segment)
            if entry.granted:
                self._core.grant(request.request_id, request.attempt, entry.granted)
            if entry.input_over:
                self._core.end_input(request.request_id, request.attempt)

    def engine_failed(self, version: str, profile: Profile, error: EngineError) -> None:
        """Refuse what was held for this engine."""
        for entry in list(self._entries.values()):
            request = entry.request
            if entry.held is not None and (request.version, request.profile) == (version, profile):
                self._end(request.request_id, error)

    def held_refuse(self, error: EngineError) -> None:
        """Refuse everything whose engine is not loaded yet."""
        for entry in list(self._entries.values()):
            if entry.held is not None:
                self._end(entry.request.request_id, error)

    def expire(self) -> None:
        """Refuse what has been held for longer than it may wait; called every beat."""
        now = self._clock()
        for entry in list(self._entries.values()):
            if entry.held is not None and now - entry.since > entry.request.max_queue_seconds:
                error = VersionUnavailable(
                    f"version {entry.request.version} is still being loaded",
                    retry_after=RETRY_AFTER_LOADING,
                )
                self._end(entry.request.request_id, error)

    # From the core

    def events(self, events: Sequence[EngineEvent]) -> None:
        """Send a step's events to whom they belong."""
        for event in events:
            entry = self._entry(event.request_id, event.attempt)
            if entry is None:
                continue
            if not entry.silent:
                self._reply(entry.gateway_id, event_encode(event))
            if isinstance(event, SpeechStarted):
                entry.started = True
            elif isinstance(event, SpeechFinished):
                self._forget(event.request_id)

    # Ends

    def gateway_lost(self, gateway_id: str) -> None:
        """Free everything that a gateway asked for."""
        for entry in list(self._entries.values()):
            if entry.gateway_id == gateway_id:
                self._drop(entry.request.request_id)

    def cancel_all(self) -> None:
        """Free everything."""
        for request_id in list(self._entries):
            self._drop(request_id)

    def end_all(self, error: EngineError) -> None:
        """Tell every caller that its request ends with `error`."""
        for request_id in list(self._entries):
            self._end(request_id, error)

    def _drop(self, request_id: str) -> None:
        """Cancel a request whose caller expects no answer; it counts until the core ends it."""
        entry = self._entries[request_id]
        entry.silent = True
        if entry.held is not None:
            self._forget(request_id)
        else:
            self._core.cancel(request_id, entry.request.attempt)

    def _end(self, request_id: str, error: EngineError) -> None:
        entry = self._entries[request_id]
        if not entry.silent:
            self._refuse(entry.gateway_id, request_id, entry.request.attempt, error)
        self._drop(request_id)

    def _forget(self, request_id: str) -> None:
        entry = self._entries.pop(request_id)
        if not self._entries:
            self.idle.set()
        self._ended[entry.gateway_id, entry.serial] = None
        if len(self._ended) > REMEMBERED:
            self._ended.popitem(last=False)

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
