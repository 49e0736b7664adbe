"""The text of a context that waits to be spoken, with the flushes asked for in between."""

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

from tts.speech.text import TextPiece

# Pieces of text that may wait for a context's turn; characters are bounded apart.
MAX_PIECES = 1000
BY_ITSELF = "auto"


@dataclass(frozen=True, slots=True)
class FlushAsked:
    """A client's flush: its own id for it, and its message's; None where it gave none."""

    flush_id: str | None
    event_id: str | None


class Unflushed(Enum):
    """What of the text that was read waits for a flush: at most a WORD that may go on, or more."""

    NOTHING = auto()
    WORD = auto()
    TEXT = auto()


class TextInbox:
    """A bounded queue of text; nothing but `next` waits.

    When nothing has come for `delay` seconds after text that is not flushed, its whole
    words are flushed by themselves, and `delayed` is called; when nothing has come for
    as long again, the word that may have gone on is too. `event_id` is that of the
    message which ended the text, and `ended_by_client` whether the client knows of the end.
    """

    def __init__(self, characters: int, delay: float, delayed: Callable[[], None]) -> None:
        self.ended = False
        self.ended_by_client = False
        self.event_id: str | None = None
        self._room = characters
        self._delay = delay
        self._delayed = delayed
        self._pieces: asyncio.Queue[TextPiece | None] = asyncio.Queue()
        self._asked: dict[str, FlushAsked] = {}
        self._flushes = 0
        self._heard_at = 0.0
        self._unflushed = Unflushed.NOTHING
        self._timer: asyncio.Timeout | None = None

    def append(self, text: str) -> bool:
        """Take more text; False when there is no room for it."""
        if not text:
            return True
        if len(text) > self._room or self._crowded:
            return False
        self._room -= len(text)
        self._pieces.put_nowait(TextPiece(text))
        self._heard_at = asyncio.get_running_loop().time()
        return True

    def flush(self, asked: FlushAsked) -> bool:
        """Speak what is there; False when there is no room for the wish."""
        if self._crowded:
            return False
        # Clients may use an id twice, or none.
        self._flushes += 1
        self._asked[str(self._flushes)] = asked
        self._pieces.put_nowait(TextPiece("", flush=True, flush_id=str(self._flushes)))
        return True

    def end(self, event_id: str | None = None, *, by_client: bool = True) -> None:
        """No more text comes."""
        self.ended = True
        self.ended_by_client = by_client
        self.event_id = event_id
        self._pieces.put_nowait(None)

    async def next(self, patience: float) -> TextPiece | None:
        """The next piece, None at the end; raises TimeoutError after `patience` seconds."""
        due = math.inf
        if self._unflushed is not Unflushed.NOTHING:
            due = self._heard_at + self._delay - asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(min(due, patience)) as self._timer:
                return self._taken(await self._pieces.get())
        except TimeoutError:
            if patience < due:
                raise
        finally:
            self._timer = None
        return self._flush_by_itself()

    def hurry(self, patience: float) -> None:
        """Whoever waits in `next` waits `patience` seconds from now at most."""
        timer = self._timer
        if timer is None or timer.expired():
            return
        most = asyncio.get_running_loop().time() + patience
        due = timer.when()
        if due is None or due > most:
            timer.reschedule(most)

    def answered(self, flush_id: str) -> FlushAsked | None:
        """What a piece's flush was asked by; None where nobody asked."""
        return self._asked.pop(flush_id, None)

    @property
    def _crowded(self) -> bool:
        return self._pieces.qsize() >= MAX_PIECES

    def _taken(self, piece: TextPiece | None) -> TextPiece | None:
        if piece is not None:
            self._room += len(piece.text)
            if piece.flush:
                self._unflushed = Unflushed.NOTHING
            elif not piece.text.isspace():
                self._unflushed = Unflushed.TEXT
        return piece

    def _flush_by_itself(self) -> TextPiece:
        words = self._unflushed is Unflushed.TEXT
        self._unflushed = Unflushed.WORD if words else Unflushed.NOTHING
        self._heard_at = asyncio.get_running_loop().time()
        if words:
            self._delayed()
        return TextPiece("", flush=True, flush_id=BY_ITSELF, words=words)
