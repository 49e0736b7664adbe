"""Flushes of text that arrives in pieces: when all that came before one has been spoken."""

from collections import deque
from dataclasses import dataclass

from tts.speech.account import SpeechAccount


@dataclass(frozen=True, slots=True)
class FlushReached:
    """All text up to a flush has been spoken.

    `segments`, `samples` and `characters` count from the beginning of the request.
    """

    flush_id: str
    segments: int
    samples: int
    characters: int


class Flushes:
    """The flushes that are still to be answered, in order."""

    def __init__(self, account: SpeechAccount) -> None:
        self._account = account
        self._marks: deque[tuple[str, int]] = deque()

    def mark(self, flush_id: str, segments: int) -> None:
        """A flush came when the text had become `segments` segments in all."""
        self._marks.append((flush_id, segments))

    def reached(self, *, over: bool = False) -> list[FlushReached]:
        """Those whose segments are all spoken now; all of them when the request is `over`."""
        account = self._account
        found = []
        while self._marks and (over or self._marks[0][1] <= account.finished_segments):
            flush_id, segments = self._marks.popleft()
            # More may have come meanwhile: the beginning of the next segment.
            samples = account.samples_received if over else account.samples_finished
            found.append(FlushReached(flush_id, segments, samples, account.characters_finished))
        return found
