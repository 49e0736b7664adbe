"""The text of a request as a stream of segments, made in threads, never on the event loop."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

from tts.speech.ports import TextSplitter
from tts.text.errors import TextTooLong
from tts.text.segment import Segment
from tts.text.split_config import SplitConfig

T = TypeVar("T")
_BATCH = 8


@dataclass(frozen=True, slots=True)
class TextPiece:
    """More text. `flush` asks to speak all that has come, without waiting for more.

    `flush_id` comes back in the `FlushReached` that answers it. `words`: a last word
    that may go on is not asked for.
    """

    text: str
    flush: bool = False
    flush_id: str = ""
    words: bool = False


class TextSource(Protocol):
    """Where the segments of a request come from."""

    characters: int

    async def check(self, max_characters: int) -> None:
        """Raise a TextError when the text cannot be spoken at all."""

    def segments(self, language: str | None, engine: str) -> AsyncGenerator[Segment]:
        """The segments for an engine, in order; raises a TextError where the text goes wrong."""


class WholeText:
    """A text that is all there; `characters` counts its code points.

    The first segment comes alone, so that it is spoken at once; the rest comes
    in batches, each of which costs one hop to a thread.
    """

    def __init__(
        self,
        text: str,
        splitter: TextSplitter,
        executor: Executor,
        split: SplitConfig | None = None,
    ) -> None:
        self.characters = len(text)
        self._text = text
        self._splitter = splitter
        self._executor = executor
        self._split = split

    async def check(self, max_characters: int) -> None:
        """Raise the TextError that the text earns."""
        await _in_thread(self._executor, partial(self._splitter.check, self._text, max_characters))

    async def segments(self, language: str | None, engine: str) -> AsyncGenerator[Segment]:
        """The segments, split as they are read."""
        source, batch = await _in_thread(self._executor, partial(self._begin, language, engine))
        while batch:
            for segment in batch:
                yield segment
            batch = await _in_thread(self._executor, partial(_take, source, _BATCH))

    def _begin(self, language: str | None, engine: str) -> tuple[Iterator[Segment], list[Segment]]:
        source = self._splitter.segments(self._text, language, self._split, engine)
        return source, _take(source, 1)


class TextFeed:
    """A text that arrives in pieces; `characters` counts what has come.

    `on_text(count)` is awaited before a piece of `count` characters is used (it
    may refuse), `on_flush(flush_id, count)` called when a flush has turned into
    the first `count` segments.
    """

    def __init__(
        self,
        pieces: AsyncIterator[TextPiece],
        splitter: TextSplitter,
        executor: Executor,
        split: SplitConfig | None = None,
        *,
        on_text: Callable[[int], Awaitable[None]],
        on_flush: Callable[[str, int], None],
    ) -> None:
        self.characters = 0
        self._pieces = pieces
        self._splitter = splitter
        self._executor = executor
        self._on_text = on_text
        self._on_flush = on_flush
        self._split = split
        self._limit = 0

    async def check(self, max_characters: int) -> None:
        """Remember the limit; nothing has come yet."""
        self._limit = max_characters

    async def segments(self, language: str | None, engine: str) -> AsyncGenerator[Segment]:
        """The segments as they become certain; raises TextTooLong and what `on_text` raises."""
        feed = await _in_thread(
            self._executor, partial(self._splitter.feed, language, self._split, engine)
        )
        made = 0
        async for piece in self._pieces:
            if piece.text:
                self.characters += len(piece.text)
                if self.characters > self._limit:
                    raise TextTooLong(self.characters, self._limit)
                await self._on_text(len(piece.text))
                for segment in await self._call(feed.append, piece.text):
                    made += 1
                    yield segment
            if piece.flush:
                for segment in await self._call(feed.flush_words if piece.words else feed.flush):
                    made += 1
                    yield segment
                self._on_flush(piece.flush_id, made)
        for segment in await self._call(feed.flush):
            yield segment

    async def _call(
        self, function: Callable[..., Sequence[Segment]], *arguments: str
    ) -> Sequence[Segment]:
        return await _in_thread(self._executor, partial(function, *arguments))


async def _in_thread(executor: Executor, function: Callable[[], T]) -> T:
    return await asyncio.get_running_loop().run_in_executor(executor, function)


def _take(source: Iterator[Segment], size: int) -> list[Segment]:
    """Up to `size` segments; none at the end."""
    taken: list[Segment] = []
    for segment in source:
        taken.append(segment)
        if len(taken) == size:
            break
    return taken
