"""The text of a context that waits to be spoken, with the flushes asked for in between."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from tts.speech.text import TextPiece

# Pieces of text that may wait for a context's turn; characters are bounded apart.
MAX_PIECES = 1000
BY_ITSELF = "auto"


@dataclass(frozen=True, slots=True)
class FlushAsked:
    """A client's flush: its own id for it, and its message's; None where it gave none."""

    flush_id: str | None
    event_id: str | None


class TextInbox:
    """A bounded queue of text; nothing but `next` waits.

    Text that no flush follows within `delay` seconds is flushed by itself, and
    `delayed` called. `event_id` is that of the message which ended the text.
    """

    def __init__(self, characters: int, delay: float, delayed: Callable[[], None]) -> None:
        self.ended = False
        self.event_id: str | None = None
        self._room = characters
        self._delay = delay
        self._delayed = delayed
        self._pieces: asyncio.Queue[TextPiece | None] = asyncio.Queue()
        self._asked: dict[str, FlushAsked] = {}
        self._flushes = 0
        self._timer: asyncio.TimerHandle | None = None

    def append(self, text: str) -> bool:
        """Take more text; False when there is no room for it."""
        if not text:
            return True
        if len(text) > self._room or self._crowded:
            return False
        self._room -= len(text)
        self._pieces.put_nowait(TextPiece(text))
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._delay, self._flush_by_itself)
        return True

    def flush(self, asked: FlushAsked) -> bool:
        """Speak what is there; False when there is no room for the wish."""
        if self._crowded:
            return False
        self.stop()
        # Clients may use an id twice, or none.
        self._flushes += 1
        self._asked[str(self._flushes)] = asked
        self._pieces.put_nowait(TextPiece("", flush=True, flush_id=str(self._flushes)))
        return True

    def end(self, event_id: str | None = None) -> None:
        """No more text comes."""
        self.stop()
        self.ended = True
        self.event_id = event_id
        self._pieces.put_nowait(None)

    def stop(self) -> None:
        """Flush no more by itself what has come."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def next(self, patience: float) -> TextPiece | None:
        """The next piece, None at the end; raises TimeoutError after `patience` seconds."""
        async with asyncio.timeout(patience):
            piece = await self._pieces.get()
        if piece is not None:
            self._room += len(piece.text)
        return piece

    def answered(self, flush_id: str) -> FlushAsked | None:
        """What a piece's flush was asked by; None where nobody asked."""
        return self._asked.pop(flush_id, None)

    @property
    def _crowded(self) -> bool:
        return self._pieces.qsize() >= MAX_PIECES

    def _flush_by_itself(self) -> None:
        self._timer = None
        self._pieces.put_nowait(TextPiece("", flush=True, flush_id=BY_ITSELF))
        self._delayed()
