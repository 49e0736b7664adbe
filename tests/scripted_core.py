"""An engine core that does what a test tells it, with the real core's interface."""

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from tts.engine.config import BatchingConfig
from tts.engine.errors import EngineError
from tts.engine.event import (
    AudioChunk,
    EngineEvent,
    FinishReason,
    SegmentFinished,
    SpeechFinished,
    SpeechQueued,
    SpeechStarted,
)
from tts.engine.request import Priority as Priority
from tts.engine.request import Profile, SpeechRequest, VoicePart, VoiceSpec
from tts.engine.stats import CoreStats, EngineStats
from tts.engines.base import SpeechEngine
from tts.gateway.local import EventSink
from tts.text.segment import Language, LanguageSpan, Segment

RATE = 24_000
CHUNK_SAMPLES = 2_400


@dataclass
class Job:
    """A request that the core has, with what it was told."""

    request: SpeechRequest
    segments: list[Segment] = field(default_factory=list)
    spoken: int = 0
    input_over: bool = False
    granted: int = 0
    sent: int = 0
    sequence: int = 0


class ScriptedCore:
    """Speaks one chunk per segment at once, unless `held`; then `speak` does it.

    `refusal` is the answer to every request, where set.
    """

    def __init__(self, sink: EventSink) -> None:
        self._sink = sink
        self.jobs: dict[tuple[str, int], Job] = {}
        self.held = False
        self.refusal: EngineError | None = None
        self.cancelled: list[tuple[str, int]] = []
        self.engines: dict[tuple[str, Profile], BatchingConfig] = {}
        self.removed: list[str] = []
        self.running = False
        self.draining = False

    def start(self) -> None:
        self.running = True

    def stop(self, drain_seconds: float) -> bool:
        self.running = False
        return True

    def drain(self, seconds: float) -> None:
        self.draining = True

    def stats(self) -> CoreStats:
        slots = [
            EngineStats(version, profile, len(self.jobs), len(self.jobs), batching.max_slots)
            for (version, profile), batching in self.engines.items()
        ]
        return CoreStats(free=max(0, 8 - len(self.jobs)), engines=tuple(slots))

    def submit(self, request: SpeechRequest) -> None:
        key = (request.request_id, request.attempt)
        if self.refusal is not None:
            self._finish(key, FinishReason.ERROR, self.refusal)
            return
        assert key not in self.jobs, "submitted twice"
        self.jobs[key] = Job(request)
        self._sink([SpeechQueued(*key, position=0)])

    def append(self, request_id: str, attempt: int, segment: Segment) -> None:
        job = self.jobs.get((request_id, attempt))
        if job is not None:
            job.segments.append(segment)
            self._advance(job)

    def end_input(self, request_id: str, attempt: int) -> None:
        job = self.jobs.get((request_id, attempt))
        if job is not None:
            job.input_over = True
            self._advance(job)

    def grant(self, request_id: str, attempt: int, samples: int) -> None:
        job = self.jobs.get((request_id, attempt))
        if job is not None:
            job.granted += samples
            self._advance(job)

    def cancel(self, request_id: str, attempt: int) -> None:
        self.cancelled.append((request_id, attempt))
        if self.jobs.pop((request_id, attempt), None) is not None:
            self._finish((request_id, attempt), FinishReason.CANCELLED)

    def engine_add(
        self, version: str, profile: Profile, engine: SpeechEngine, batching: BatchingConfig
    ) -> "Future[None]":
        self.engines[version, profile] = batching
        return _done()

    def engine_remove(self, version: str, profile: Profile | None = None) -> "Future[None]":
        self.removed.append(version)
        self.engines = {
            key: value
            for key, value in self.engines.items()
            if key[0] != version or profile not in (None, key[1])
        }
        return _done()

    def batching_set(self, version: str, batching: BatchingConfig) -> None:
        for key in self.engines:
            if key[0] == version:
                self.engines[key] = batching

    def release(self) -> None:
        """Speak what was held back."""
        self.held = False
        for job in list(self.jobs.values()):
            self._advance(job)

    def _advance(self, job: Job) -> None:
        key = (job.request.request_id, job.request.attempt)
        if self.held or key not in self.jobs:
            return
        events: list[EngineEvent] = []
        while job.spoken < len(job.segments):
            credit = job.request.initial_credit_samples + job.granted - job.sent
            if credit < CHUNK_SAMPLES:
                break
            events += self._speak(job)
        if events:
            self._sink(events)
        if job.input_over and job.spoken == len(job.segments):
            del self.jobs[key]
            self._finish(key, FinishReason.COMPLETED, job=job)

    def _speak(self, job: Job) -> Sequence[EngineEvent]:
        key = (job.request.request_id, job.request.attempt)
        segment = job.segments[job.spoken]
        start = job.sent
        events: list[EngineEvent] = []
        if job.sequence == 0:
            events.append(SpeechStarted(*key, queue_seconds=0.0, sample_rate=RATE))
        pcm = (segment.index % 256).to_bytes(1, "little") * (2 * CHUNK_SAMPLES)
        events.append(AudioChunk(*key, job.sequence, segment.index, start, pcm, RATE))
        job.sequence += 1
        job.sent += CHUNK_SAMPLES
        job.spoken += 1
        events.append(SegmentFinished(*key, segment.index, start, job.sent))
        return events

    def _finish(
        self,
        key: tuple[str, int],
        reason: FinishReason,
        error: EngineError | None = None,
        job: Job | None = None,
    ) -> None:
        finished = SpeechFinished(
            *key,
            reason=reason,
            segments=job.spoken if job else 0,
            samples=job.sent if job else 0,
            error_code=error.code if error else None,
            message=error.message if error else "",
            retry_after=error.retry_after if error else None,
        )
        self._sink([finished])


def _done() -> "Future[None]":
    done: Future[None] = Future()
    done.set_result(None)
    return done


def speech_request(request_id: str = "r1", **changes: object) -> SpeechRequest:
    """A request for version "tone@1" with plain values."""
    values: dict[str, object] = {
        "request_id": request_id,
        "tenant_id": "t1",
        "version": "tone@1",
        "profile": Profile.REALTIME,
        "priority": Priority.REALTIME,
        "voice": VoiceSpec("tone", "tone", (VoicePart("tone"),), ("en", "zh")),
        **changes,
    }
    return SpeechRequest(**values)  # type: ignore[arg-type]  # values by name, checked by use


def text_segments(*texts: str) -> list[Segment]:
    """One English segment per text."""
    segments = []
    at = 0
    for index, text in enumerate(texts):
        span = LanguageSpan(Language.EN, text, at, at + len(text))
        segments.append(Segment(index, text, (span,), at, at + len(text)))
        at += len(text)
    return segments
