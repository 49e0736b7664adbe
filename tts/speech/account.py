"""What happened to one request, written down as it goes, and its outcome in the end."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tenants.principal import Principal
from tts.engine.event import FinishReason, SegmentFinished, SpeechFinished, StageTimes
from tts.engine.outcome import SpeechOutcome
from tts.speech.order import SpeechOrder
from tts.speech.plan import SpeechPlan
from tts.text.segment import Segment


@dataclass(slots=True)
class SpeechAccount:
    """The running figures of a request; times are seconds on the monotonic `clock`.

    `segments` holds the segments made so far, by index. `characters_spoken`
    counts the code points of those that were spoken to their end, `samples_finished`
    the samples up to the end of the last one.
    """

    began: float
    clock: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    segments: dict[int, Segment] = field(default_factory=dict)
    finished_segments: int = 0
    characters_spoken: int = 0
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

    @property
    def elapsed(self) -> float:
        """Seconds since the request came."""
        return self.clock() - self.began

    def chunk_received(self, samples: int, sample_rate: int) -> None:
        """Audio came from the worker."""
        if self.first_chunk_seconds is None:
            self.first_chunk_seconds = self.elapsed
        self.samples_received += samples
        self.sample_rate = sample_rate

    def segment_finished(self, event: SegmentFinished) -> None:
        """A segment was spoken to its end."""
        self.finished_segments += 1
        self.samples_finished = event.end
        segment = self.segments.get(event.segment_index)
        if segment is not None:
            self.characters_spoken += segment.end - segment.start

    def finished(self, event: SpeechFinished) -> None:
        """The worker's own account has come."""
        self.stages = event.stages
        self.ended(event.reason, str(event.error_code or ""))

    def ended(self, reason: FinishReason, error_code: str = "") -> None:
        """The request is over; only the first cause counts."""
        if self.reason is None:
            self.reason = reason
            self.error_code = error_code

    def delivered(self, samples: int, seconds: float) -> None:
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
            total_seconds=self.elapsed,
            first_audio_seconds=self.first_audio_seconds,
            stages=self.stages,
            encode_seconds=self.encode_seconds,
            send_seconds=self.send_seconds,
            finished_at=self.wall(),
        )
