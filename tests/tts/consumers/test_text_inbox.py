"""Text that nobody flushes is flushed by itself once nothing more comes."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from tests.virtual_time import VirtualTimeLoop
from tts.consumers.inbox import FlushAsked, TextInbox

DELAY = 3.0
PATIENCE = 60.0


class Read:
    """What is read of an inbox while something is written to it, and when."""

    def __init__(self) -> None:
        self.heard: list[tuple[float, str]] = []
        self.warned: list[float] = []

    def run(self, write: Callable[[TextInbox], Awaitable[None]]) -> None:
        with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
            runner.run(self._run(write))

    async def _run(self, write: Callable[[TextInbox], Awaitable[None]]) -> None:
        loop = asyncio.get_running_loop()
        inbox = TextInbox(1_000, DELAY, lambda: self.warned.append(loop.time()))
        writing = asyncio.create_task(self._write(inbox, write))
        while (piece := await inbox.next(PATIENCE)) is not None:
            kind = ("words" if piece.words else "all") if piece.flush else piece.text
            self.heard.append((loop.time(), kind))
        await writing

    @staticmethod
    async def _write(inbox: TextInbox, write: Callable[[TextInbox], Awaitable[None]]) -> None:
        await write(inbox)
        inbox.end()


def test_words_are_flushed_when_nothing_comes_and_then_the_rest() -> None:
    async def write(inbox: TextInbox) -> None:
        inbox.append("unbeliev")
        await asyncio.sleep(20)

    read = Read()
    read.run(write)
    assert read.heard == [(0, "unbeliev"), (3, "words"), (6, "all")]
    assert read.warned == [3]


def test_text_that_goes_on_is_not_flushed() -> None:
    async def write(inbox: TextInbox) -> None:
        for _ in range(20):
            inbox.append("word ")
            await asyncio.sleep(2)

    read = Read()
    read.run(write)
    assert [kind for _, kind in read.heard] == ["word "] * 20
    assert read.warned == []


def test_more_text_begins_the_wait_anew() -> None:
    async def write(inbox: TextInbox) -> None:
        inbox.append("unbeliev")
        await asyncio.sleep(4)
        inbox.append("able")
        await asyncio.sleep(4)

    read = Read()
    read.run(write)
    assert read.heard == [(0, "unbeliev"), (3, "words"), (4, "able"), (7, "words")]
    assert read.warned == [3, 7]


def test_flushed_text_waits_for_nothing() -> None:
    async def write(inbox: TextInbox) -> None:
        inbox.append("Hello.")
        inbox.flush(FlushAsked("f1", None))
        await asyncio.sleep(20)

    read = Read()
    read.run(write)
    assert read.heard == [(0, "Hello."), (0, "all")]
    assert read.warned == []


def test_text_that_waited_for_its_turn_is_read_before_it_is_flushed() -> None:
    async def run() -> tuple[list[str], float]:
        inbox = TextInbox(1_000, DELAY, lambda: None)
        for piece in ("Hel", "lo"):
            inbox.append(piece)
            await asyncio.sleep(10)
        pieces = [await inbox.next(PATIENCE) for _ in range(3)]
        return [piece.text for piece in pieces if piece], asyncio.get_running_loop().time()

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        assert runner.run(run()) == (["Hel", "lo", ""], 20)


def test_a_wait_that_has_begun_is_cut_short() -> None:
    async def run() -> float:
        inbox = TextInbox(1_000, DELAY, lambda: None)
        waiting = asyncio.create_task(inbox.next(PATIENCE))
        await asyncio.sleep(10)
        inbox.hurry(2)
        with pytest.raises(TimeoutError):
            await waiting
        return asyncio.get_running_loop().time()

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        assert runner.run(run()) == 12


def test_a_wait_that_is_over_sooner_is_not_drawn_out() -> None:
    async def run() -> float:
        inbox = TextInbox(1_000, DELAY, lambda: None)
        inbox.hurry(1)
        waiting = asyncio.create_task(inbox.next(5))
        await asyncio.sleep(4)
        inbox.hurry(30)
        with pytest.raises(TimeoutError):
            await waiting
        return asyncio.get_running_loop().time()

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        assert runner.run(run()) == 5
