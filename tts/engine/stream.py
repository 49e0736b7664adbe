"""One request's way out: audio in order of segments, processed, within the listener's credit."""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from tts.engine.errors import EngineError, NothingToSpeak, SynthesisFailed
from tts.engine.event import (
    AudioChunk,
    EngineEvent,
    FinishReason,
    SegmentFinished,
    SpeechFinished,
    StageTimes,
)
from tts.engine.host import EngineHost
from tts.engine.request import SpeechRequest
from tts.engines.base import Samples
from tts.text.segment import Segment


class AudioPostProcessor(Protocol):
    """Speed, gain, limiter and PCM of one request; audio goes in and comes out in order."""

    @property
    def peak(self) -> float:
        """The largest absolute sample so far."""

    @property
    def limited(self) -> int:
        """How many samples the limiter held."""

    @property
    def position(self) -> int:
        """Where, in samples of the output, the audio taken so far ends.

        Ahead of what came out by what filters hold; after `segment_end` it is
        the border of that segment.
        """

    def process(self, audio: Samples) -> bytes:
        """Float32 mono in; what is ready as s16le out (may be empty)."""

    def segment_end(self) -> bytes:
        """What is still held of the segment."""

    def finish(self) -> bytes:
        """What is still held at all."""


PostProcessorFactory = Callable[[int, float, float], AudioPostProcessor]


def default_postprocessor(rate: int, speed: float, gain_db: float) -> AudioPostProcessor:
    """The platform's own; imported here so that the engine core needs no audio library."""
    from tts.audio.pipeline import PostProcessor

    return PostProcessor(rate, speed, gain_db)


@dataclass(slots=True, eq=False)
class _Part:
    """A segment's audio: `received` samples came from the engine, `position` is the run's own.

    A segment that is computed again after a preemption gives the same samples
    again; those received before are dropped.
    """

    segment: Segment
    pieces: deque[Samples] = field(default_factory=deque)
    received: int = 0
    position: int = 0
    done: bool = False


class Stream:
    """The state of one request outside the scheduler."""

    def __init__(
        self,
        request: SpeechRequest,
        host: EngineHost,
        accepted: float,
        *,
        chunk_samples: int,
        postprocessor_factory: PostProcessorFactory,
        clock: Callable[[], float],
    ) -> None:
        self.request = request
        self.host = host
        self.rate = host.traits.sample_rate
        self.credit = request.initial_credit_samples
        self.input_ended = False
        self.position: int | None = None
        self.started = False
        self.queue_seconds = 0.0
        self.prepare_seconds = 0.0
        self.compute_seconds = 0.0
        self._postprocess_seconds = 0.0
        self._first_audio = 0.0
        self._accepted = accepted
        self._chunk_samples = chunk_samples
        self._factory = postprocessor_factory
        self._clock = clock
        self._post: AudioPostProcessor | None = None
        self._parts: dict[int, _Part] = {}
        self._sequence = 0
        self._sent = 0
        self._segments = 0
        self._border = 0
        self._borders: deque[tuple[int, int, int]] = deque()
        self._last: _Part | None = None
        self._closed = False
        self._silent: NothingToSpeak | None = None

    @property
    def complete(self) -> bool:
        """Whether all text is in and all its audio is made; `flush` then sends the last of it."""
        return self.input_ended and not self._parts

    @property
    def headroom(self) -> float:
        """Seconds of audio the listener still takes beyond what is held for it."""
        held = sum(len(piece) for part in self._parts.values() for piece in part.pieces)
        return (self.credit - held / self.request.speed) / self.rate

    @property
    def sent(self) -> int:
        """Samples sent so far."""
        return self._sent

    def append(self, segment: Segment) -> None:
        """One more segment, to be spoken after those before it."""
        self._parts[segment.index] = _Part(segment)

    def segment(self, index: int) -> Segment:
        """A segment that was appended and is not finished."""
        return self._parts[index].segment

    def begin(self, index: int) -> None:
        """The segment is computed from its beginning."""
        self._parts[index].position = 0

    def push(self, index: int, audio: Samples) -> None:
        """The next audio of the segment, at the engine's rate and speed."""
        part = self._parts[index]
        known = max(0, part.received - part.position)
        part.position += len(audio)
        part.received = max(part.received, part.position)
        if known < len(audio):
            part.pieces.append(audio[known:])

    def segment_done(self, index: int, silent: NothingToSpeak | None = None) -> None:
        """The segment's audio is complete; `silent` says why it has none."""
        self._parts[index].done = True
        self._silent = self._silent or silent

    def flush(self) -> Iterator[EngineEvent]:
        """What may leave now: audio of the first unfinished segment, while there is credit.

        A chunk leaves whole, so credit may be overdrawn by one.
        """
        while self._parts:
            part = next(iter(self._parts.values()))
            while part.pieces and self.credit > 0:
                yield from self._chunk(part, self._process(self._take(part)))
                yield from self._borders_passed()
            if part.pieces or not part.done:
                return
            yield from self._close(part)
        if self.complete and not self._closed:
            self._closed = True
            if self._post is not None:
                yield from self._chunk(self._last, self._timed(self._post.finish))
        yield from self._borders_passed(all_of_them=True)

    def _close(self, part: _Part) -> Iterator[EngineEvent]:
        start = self._border
        if self._post is not None:
            yield from self._chunk(part, self._timed(self._post.segment_end))
            self._border = self._post.position
        del self._parts[part.segment.index]
        self._last = part
        self._borders.append((part.segment.index, start, self._border))

    def _borders_passed(self, *, all_of_them: bool = False) -> Iterator[EngineEvent]:
        """Segments whose audio has left.

        With nothing more to speak they are all reported: what a filter still
        holds of the last one (milliseconds) leaves with the next text.
        """
        while self._borders and (all_of_them or self._borders[0][2] <= self._sent):
            index, start, end = self._borders.popleft()
            if self._closed:
                end = min(end, self._sent)
            self._segments += 1
            yield SegmentFinished(
                self.request.request_id, self.request.attempt, index, min(start, end), end
            )

    def outcome(self) -> EngineError | None:
        """Why a complete stream is a failure: silence is never a success."""
        if self._sent:
            return None
        if self._silent is not None or not self._segments:
            return self._silent or NothingToSpeak("the request has no text")
        return SynthesisFailed("the engine made no audio of this text")

    def finished(self, reason: FinishReason, error: EngineError | None = None) -> SpeechFinished:
        """The event that ends the request."""
        return SpeechFinished(
            self.request.request_id,
            self.request.attempt,
            reason,
            segments=self._segments,
            samples=self._sent,
            stages=StageTimes(
                self.queue_seconds,
                self.prepare_seconds,
                self.compute_seconds,
                self._postprocess_seconds,
                self._first_audio,
            ),
            error_code=error.code if error else None,
            message=error.message if error else "",
            retry_after=error.retry_after if error else None,
            peak=self._post.peak if self._post else 0.0,
            clipped=self._post.limited if self._post else 0,
        )

    def _take(self, part: _Part) -> Samples:
        piece = part.pieces.popleft()
        if len(piece) > self._chunk_samples:
            part.pieces.appendleft(piece[self._chunk_samples :])
            piece = piece[: self._chunk_samples]
        return piece

    def _process(self, audio: Samples) -> bytes:
        if self._post is None:
            request = self.request
            self._post = self._factory(self.rate, request.speed, request.voice.gain_db)
        post = self._post
        return self._timed(lambda: post.process(audio))

    def _timed(self, work: Callable[[], bytes]) -> bytes:
        began = self._clock()
        pcm = work()
        self._postprocess_seconds += self._clock() - began
        return pcm

    def _chunk(self, part: _Part | None, pcm: bytes) -> Iterator[EngineEvent]:
        if not pcm:
            return
        if not self._sent:
            self._first_audio = self._clock() - self._accepted
        chunk = AudioChunk(
            self.request.request_id,
            self.request.attempt,
            self._sequence,
            part.segment.index if part else 0,
            self._sent,
            pcm,
            self.rate,
        )
        self._sequence += 1
        self._sent += chunk.samples
        self.credit -= chunk.samples
        yield chunk
