"""What happened to one request, written down as it goes, and its outcome in the end."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tenants.principal import Principal
from tts.engine.event import (
    AudioChunk,
    EngineEvent,
    FinishReason,
    SegmentFinished,
    SpeechStarted,
    StageTimes,
)
from tts.engine.outcome import SpeechOutcome
from tts.speech.charge import SegmentAudio, characters_sent
from tts.speech.order import SpeechOrder
from tts.speech.plan import SpeechPlan
from tts.text.segment import Segment


@dataclass(slots=True)
class SpeechAccount:
    """The running figures of a request; times are seconds on the monotonic `clock`.

    `segments` holds the segments made so far, by index, `audio` what came of
    them. `characters_finished` counts the code points of those that the worker
    has made to their end, `samples_finished` the samples up to the end of the
    last one; `samples_delivered` are those that have left for the listener.
    `stages` is the worker's own account; it comes with the end.
    """

    began: float
    clock: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    speed: float = 1.0
    segments: dict[int, Segment] = field(default_factory=dict)
    audio: dict[int, SegmentAudio] = field(default_factory=dict)
    finished_segments: int = 0
    characters_finished: int = 0
    samples_received: int = 0
    samples_finished: int = 0
    samples_delivered: int = 0
    sample_rate: int = 0
    queue_seconds: float = 0.0
    first_chunk_seconds: float | None = None
    first_audio_seconds: float | None = None
    encode_seconds: float = 0.0
    send_seconds: float = 0.0
    worker_id: str = ""
    attempts: int = 0
    stages: StageTimes = field(default_factory=StageTimes)
    reason: FinishReason | None = None
    error_code: str = ""
    _charged: int | None = None

    @property
    def elapsed(self) -> float:
        """Seconds since the request came."""
        return self.clock() - self.began

    @property
    def rtf(self) -> float | None:
        """Seconds the engine spent on it per second of audio.

        None without audio, and where the worker was not heard to the end.
        """
        if not self.samples_received or not self.sample_rate or not self.stages.compute:
            return None
        return self.stages.compute * self.sample_rate / self.samples_received

    @property
    def characters_spoken(self) -> int:
        """The code points that count as spoken: what is charged and reported.

        All segments of a request that was completed; else by the share of their
        audio that was sent, that in which the listener broke off included.
        """
        if self._charged is not None:
            return self._charged
        if self.reason is FinishReason.COMPLETED:
            return self.characters_finished
        return characters_sent(
            self.segments,
            self.audio,
            self.samples_delivered,
            sample_rate=self.sample_rate,
            speed=self.speed,
            unfinished=self.reason is FinishReason.CANCELLED,
        )

    def charge(self) -> int:
        """Leave `characters_spoken` as it is now, whatever still comes."""
        self._charged = self.characters_spoken
        return self._charged

    def segment_made(self, segment: Segment) -> None:
        """A segment is there for the worker."""
        self.segments[segment.index] = segment

    def note(self, event: EngineEvent, worker_id: str) -> None:
        """Write down what the worker says; not the end, which counts when it is told."""
        if isinstance(event, AudioChunk):
            self._chunk_received(event)
        elif isinstance(event, SegmentFinished):
            self._segment_finished(event)
        elif isinstance(event, SpeechStarted):
            self.queue_seconds = event.queue_seconds
            self.sample_rate = event.sample_rate
            self.worker_id = worker_id

    def _chunk_received(self, chunk: AudioChunk) -> None:
        if self.first_chunk_seconds is None:
            self.first_chunk_seconds = self.elapsed
        self.samples_received += chunk.samples
        self.sample_rate = chunk.sample_rate
        end = chunk.offset + chunk.samples
        known = self.audio.setdefault(chunk.segment_index, SegmentAudio(chunk.offset, end))
        known.end = max(known.end, end)

    def _segment_finished(self, event: SegmentFinished) -> None:
        self.finished_segments += 1
        self.samples_finished = event.end
        self.audio[event.segment_index] = SegmentAudio(event.start, event.end, whole=True)
        segment = self.segments.get(event.segment_index)
        if segment is not None:
            self.characters_finished += segment.end - segment.start

    def ended(self, reason: FinishReason, error_code: str = "") -> None:
        """The request is over; only the first cause counts."""
        if self.reason is None:
            self.reason = reason
            self.error_code = error_code

    def delivered(self, samples: int, seconds: float = 0.0) -> None:
        """The transport took audio after `seconds` of waiting."""
        if samples and self.first_audio_seconds is None:
            self.first_audio_seconds = self.elapsed
        self.samples_delivered += samples
        self.send_seconds += seconds

    def outcome(
        self,
        *,
        request_id: str,
        principal: Principal,
        order: SpeechOrder,
        plan: SpeechPlan | None,
        transport: str,
        characters_asked: int,
    ) -> SpeechOutcome:
        """The frozen record.

        A request refused before it had a plan has no model, version, tier or voice: what
        the client wrote there may be anything, and observers label metrics by it.
        """
        rate = self.sample_rate
        return SpeechOutcome(
            request_id=request_id,
            tenant_id=principal.tenant_id,
            key_id=principal.key_id,
            model=plan.routed.route if plan else "",
            version=plan.routed.version if plan else "",
            tier=plan.tier.name if plan else "",
            voice=plan.voice.name if plan else "",
            transport=transport,
            worker_id=self.worker_id,
            attempts=self.attempts,
            reason=self.reason or FinishReason.CANCELLED,
            error_code=self.error_code,
            characters_asked=characters_asked,
            characters_spoken=self.characters_spoken,
            audio_seconds=self.samples_delivered / rate if rate else 0.0,
            rtf=self.rtf,
            total_seconds=self.elapsed,
            first_audio_seconds=self.first_audio_seconds,
            stages=self.stages,
            encode_seconds=self.encode_seconds,
            send_seconds=self.send_seconds,
            finished_at=self.wall(),
        )
