"""All open requests of a worker: they are opened, fed, sent from and ended here, exactly once."""

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf

from tts.engine.config import CoreConfig
from tts.engine.errors import EngineError, StreamStalled, failure_of
from tts.engine.event import EngineEvent, FinishReason, SpeechFinished, SpeechQueued, SpeechStarted
from tts.engine.host import EngineHost
from tts.engine.job import EngineKey
from tts.engine.request import SpeechRequest
from tts.engine.scheduler import Scheduler, Start
from tts.engine.stream import PostProcessorFactory, Stream
from tts.engine.traces import trace_of
from tts.engines.base import Samples
from tts.text.segment import Language, Segment

logger = logging.getLogger(__name__)

# Ordinary speech: 4.5 syllables of Mandarin, 14 letters of English a second. Only the
# first guess; an engine's own replaces it when the segment is prepared.
SECONDS_PER_CHARACTER = {Language.ZH: 0.22, Language.EN: 0.07}


def expected_seconds(segment: Segment) -> float:
    """About how long a segment's audio will be, before speed."""
    return sum(len(span.spoken) * SECONDS_PER_CHARACTER[span.language] for span in segment.spans)


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """What a run is for."""

    run_id: int
    stream: Stream
    host: EngineHost
    segment_index: int


class Streams:
    """The open requests, what runs for them, and the events that came of it."""

    def __init__(
        self,
        config: CoreConfig,
        scheduler: Scheduler,
        clock: Callable[[], float],
        postprocessor_factory: PostProcessorFactory,
    ) -> None:
        self._config = config
        self._scheduler = scheduler
        self._clock = clock
        self._factory = postprocessor_factory
        self._streams: dict[str, Stream] = {}
        self._work: dict[int, Work] = {}
        self._stalled: dict[str, float] = {}
        self._events: list[EngineEvent] = []
        self._positions_at = -inf
        self.users: Counter[EngineKey] = Counter()

    def __len__(self) -> int:
        return len(self._streams)

    def __iter__(self) -> Iterator[Stream]:
        return iter(tuple(self._streams.values()))

    def take_events(self) -> list[EngineEvent]:
        """Everything that happened since the last call."""
        events, self._events = self._events, []
        return events

    def find(self, request_id: str, attempt: int) -> Stream | None:
        """The open request, if that is its attempt."""
        stream = self._streams.get(request_id)
        return stream if stream is not None and stream.request.attempt == attempt else None

    def current(self, request_id: str) -> Stream | None:
        """The open request, whatever its attempt."""
        return self._streams.get(request_id)

    def open(self, request: SpeechRequest, host: EngineHost) -> None:
        """Take a request in; raises QueueFull, DeadlineUnattainable."""
        now = self._clock()
        rate = host.traits.sample_rate
        stream = Stream(
            request,
            host,
            now,
            chunk_samples=max(1, int(rate * self._config.chunk_seconds)),
            postprocessor_factory=self._factory,
            clock=self._clock,
        )
        self._scheduler.submit(request, now)
        self._streams[request.request_id] = stream
        self.users[host.key] += 1
        self._credit_changed(stream)

    def refuse(self, request: SpeechRequest, error: EngineError) -> None:
        """End a request that was never opened."""
        self._events.append(
            SpeechFinished(
                request.request_id,
                request.attempt,
                FinishReason.ERROR,
                error_code=error.code,
                message=error.message,
                retry_after=error.retry_after,
            )
        )

    def append(self, stream: Stream, segment: Segment) -> None:
        """One more segment to speak."""
        stream.append(segment)
        self._scheduler.append(
            stream.request.request_id, segment.index, expected_seconds(segment), self._clock()
        )

    def grant(self, stream: Stream, samples: int) -> None:
        """The listener takes `samples` more."""
        stream.credit += samples
        self.flush(stream)

    def begin(self, start: Start) -> Work:
        """A run for a segment begins; tell the listener if it is the first."""
        stream = self._streams[start.request_id]
        work = Work(start.run_id, stream, stream.host, start.segment_index)
        self._work[start.run_id] = work
        stream.begin(start.segment_index)
        if not stream.started:
            stream.started = True
            stream.queue_seconds = start.queue_seconds
            request = stream.request
            self._events.append(
                SpeechStarted(request.request_id, request.attempt, start.queue_seconds, stream.rate)
            )
        return work

    def work(self, run_id: int) -> Work | None:
        """What a run is for, while it is for anything."""
        return self._work.get(run_id)

    def run_ended(self, run_id: int) -> None:
        """The run is over, or given up for now; its request goes on."""
        work = self._work.pop(run_id)
        work.host.release(run_id)

    def push(self, work: Work, audio: Samples) -> None:
        """The run made more audio."""
        self._scheduler.produced(work.run_id, len(audio) / work.stream.rate)
        work.stream.push(work.segment_index, audio)

    def flush(self, stream: Stream) -> None:
        """Send what may leave, end what is complete; a failure ends the request alone."""
        sent = stream.sent
        try:
            self._events.extend(stream.flush())
        except Exception as error:  # noqa: BLE001 - audio processing must not end the loop
            logger.error("processing the audio failed\n%s", trace_of(error))
            self.fail(stream, failure_of("processing the audio failed", error))
            return
        if stream.sent > sent:
            seconds = (stream.sent - sent) / stream.rate
            self._scheduler.sent(stream.request.request_id, seconds, self._clock())
        if not stream.complete:
            self._credit_changed(stream)
        elif (silence := stream.outcome()) is not None:
            self.fail(stream, silence)
        else:
            self.end(stream, FinishReason.COMPLETED)

    def fail(self, stream: Stream, error: EngineError) -> None:
        """End a request with an error."""
        self.end(stream, FinishReason.ERROR, error)

    def end(self, stream: Stream, reason: FinishReason, error: EngineError | None = None) -> None:
        """End a request: everything it held is free afterwards."""
        request = stream.request
        for run_id in self._scheduler.finish(request.request_id):
            work = self._work.pop(run_id, None)
            if work is not None:
                work.host.release(run_id)
        del self._streams[request.request_id]
        self._stalled.pop(request.request_id, None)
        key = stream.host.key
        self.users[key] -= 1
        if not self.users[key]:
            del self.users[key]
        self._events.append(stream.finished(reason, error))

    def expire_stalled(self, now: float) -> float:
        """End the requests whose listener took nothing for too long; returns when to look again."""
        limit = self._config.stall_seconds
        while self._stalled:
            # Entries are in order of time: the first is the oldest.
            request_id, since = next(iter(self._stalled.items()))
            if now < since + limit:
                return since + limit
            error = StreamStalled(f"the listener took no audio for {limit:g} s")
            self.fail(self._streams[request_id], error)
        return inf

    def report_positions(self, now: float) -> float:
        """Tell those who wait their place when it changed; returns when to look again."""
        waiting = self._scheduler.positions()
        if not waiting:
            return inf
        due = self._positions_at + self._config.position_seconds
        later = inf
        for position, request_id in enumerate(waiting):
            stream = self._streams[request_id]
            if stream.position == position:
                continue
            if stream.position is not None and now < due:
                later = due
                continue
            stream.position = position
            request = stream.request
            self._events.append(SpeechQueued(request.request_id, request.attempt, position))
        if now >= due:
            self._positions_at = now
        return later

    def is_empty(self) -> bool:
        """Whether nothing of any request is left."""
        return not (self._streams or self._work or self._stalled or self.users)

    def _credit_changed(self, stream: Stream) -> None:
        request_id = stream.request.request_id
        self._scheduler.headroom_set(request_id, stream.headroom)
        if stream.credit > 0:
            self._stalled.pop(request_id, None)
        else:
            self._stalled.setdefault(request_id, self._clock())
