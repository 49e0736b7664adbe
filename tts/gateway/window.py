"""How much of a request's text and audio may be under way: text by segments, audio by credit."""

import asyncio

from tts.text.segment import Segment

WINDOW_CHARACTERS = 20_000
"""Text (code points) that may be at the worker and not spoken yet; more waits in its iterator."""
WINDOW_SEGMENTS = 256
CREDIT_QUANTUM = 12_000
"""Samples: grants are sent in portions of this size at least."""


class TextWindow:
    """The segments that were sent and not spoken yet."""

    def __init__(self) -> None:
        self._unspoken: dict[int, int] = {}
        self._characters = 0
        self._room = asyncio.Event()
        self._closed = False

    def add(self, segment: Segment) -> None:
        """A segment was sent."""
        size = len(segment.spoken)
        self._unspoken[segment.index] = size
        self._characters += size

    def spoken(self, index: int) -> bool:
        """A segment was spoken to its end; False if it was not under way."""
        size = self._unspoken.pop(index, None)
        if size is None:
            return False
        self._characters -= size
        self._room.set()
        return True

    def close(self) -> None:
        """The request is over: whoever waits goes on."""
        self._closed = True
        self._unspoken.clear()
        self._room.set()

    async def room(self) -> None:
        """Wait until another segment may be sent."""
        while not self._closed and (
            len(self._unspoken) >= WINDOW_SEGMENTS or self._characters >= WINDOW_CHARACTERS
        ):
            self._room.clear()
            await self._room.wait()


class CreditMeter:
    """Grants on their way to the worker, as a running total, in portions worth a message."""

    def __init__(self, initial_samples: int) -> None:
        self._granted = 0
        self._sent = 0
        self._quantum = max(1, min(CREDIT_QUANTUM, initial_samples // 8))

    def grant(self, samples: int) -> int | None:
        """Add to the total; returns it when it is time to send it. Raises ValueError below 0."""
        if samples < 0:
            raise ValueError(f"a grant cannot be negative: {samples}")
        self._granted += samples
        if self._granted - self._sent < self._quantum:
            return None
        self._sent = self._granted
        return self._granted

    def again(self) -> int:
        """The total for a worker that has not been sent any (0: nothing was granted)."""
        self._sent = self._granted
        return self._granted
