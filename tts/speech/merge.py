"""The events of a stream, and the flushes that none of them answers, in one order."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress

from tts.engine.event import EngineEvent, SpeechFinished
from tts.speech.flush import FlushReached

SpeechEvent = EngineEvent | FlushReached


class MergedEvents:
    """Reads a source as fast as it speaks, so that what is `put` meanwhile is told at once."""

    def __init__(self) -> None:
        self._items: asyncio.Queue[SpeechEvent | BaseException | None] = asyncio.Queue()
        self._reader: asyncio.Task[None] | None = None

    def put(self, *events: SpeechEvent) -> None:
        """Tell `events` after what has been read so far."""
        for event in events:
            self._items.put_nowait(event)

    async def read(self, source: AsyncGenerator[SpeechEvent]) -> AsyncGenerator[SpeechEvent]:
        """All events, up to a SpeechFinished; raises what `source` raises, in its place."""
        self._reader = asyncio.create_task(self._read(source), name="speech-reader")
        while (item := await self._items.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
            if isinstance(item, SpeechFinished):
                return

    async def close(self) -> None:
        """Stop reading, and close the source."""
        if self._reader is not None:
            self._reader.cancel()
            with suppress(asyncio.CancelledError):
                await self._reader

    async def _read(self, source: AsyncGenerator[SpeechEvent]) -> None:
        try:
            async with aclosing(source) as events:
                async for event in events:
                    self.put(event)
        except Exception as error:  # noqa: BLE001 - raised again by `read`
            self._items.put_nowait(error)
        else:
            self._items.put_nowait(None)
