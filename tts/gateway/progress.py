"""What of a request has arrived so far, as its caller's side counts it."""

from tts.engine.errors import EngineError
from tts.engine.event import AudioChunk, FinishReason, SpeechFinished


class Progress:
    """Chunks, samples and segments of the attempt that counts."""

    def __init__(self) -> None:
        self.next_sequence = 0
        self.samples = 0
        self.segments = 0

    def chunk(self, chunk: AudioChunk) -> bool:
        """Count a chunk; False when one before it is missing."""
        if chunk.sequence != self.next_sequence:
            return False
        self.next_sequence += 1
        self.samples += chunk.samples
        return True

    def finished(
        self,
        request_id: str,
        attempt: int,
        reason: FinishReason,
        error: EngineError | None = None,
    ) -> SpeechFinished:
        """The end as this side knows it, where the worker's own account does not come."""
        return SpeechFinished(
            request_id=request_id,
            attempt=attempt,
            reason=reason,
            segments=self.segments,
            samples=self.samples,
            error_code=error.code if error else None,
            message=error.message if error else "",
            retry_after=error.retry_after if error else None,
        )
