"""What a socket sends: in order, one writer, audio only while its context lives."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

Send = Callable[[str | bytes], Awaitable[None]]
# Control messages a client may leave unread before its connection is given up.
MAX_CONTROL = 1000


class Muted(Protocol):
    """Whose audio it is: once muted, none of it is sent any more."""

    @property
    def muted(self) -> bool: ...


class OutboxFull(Exception):
    """The client left too many control messages unread."""


@dataclass(slots=True)
class _Item:
    data: str | bytes
    owner: Muted | None = None
    sent: "asyncio.Future[bool] | None" = None
    leaving: Callable[[], None] | None = None


class Outbox:
    """One ordered way out of a socket.

    `post` never waits, so a message handler is never held up by a client that
    does not read. `deliver` waits until the transport took the data, which is
    what holds a speaking context back.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._items: deque[_Item] = deque()
        self._wake = asyncio.Event()
        self._closed = False

    def post(self, message: str) -> None:
        """Queue a control message; raises OutboxFull."""
        if len(self._items) >= MAX_CONTROL:
            raise OutboxFull
        self._put(_Item(message))

    async def deliver(
        self, data: str | bytes, owner: Muted, leaving: Callable[[], None] = lambda: None
    ) -> bool:
        """Send audio of `owner`; False when it was muted or the socket ended first.

        `leaving` is called at the moment after which muting comes too late.
        """
        item = _Item(data, owner, asyncio.get_running_loop().create_future(), leaving)
        assert item.sent is not None  # noqa: S101 - made in the line above
        self._put(item)
        return await item.sent

    async def run(self) -> None:
        """Send what is put, until cancelled or until `finish` has been called and all is sent."""
        try:
            while True:
                while self._items:
                    await self._send_one(self._items.popleft())
                if self._closed:
                    return
                self._wake.clear()
                await self._wake.wait()
        finally:
            self._closed = True
            for item in self._items:
                _resolve(item, sent=False)
            self._items.clear()

    def finish(self) -> None:
        """Let `run` end once all that was put is sent."""
        self._closed = True
        self._wake.set()

    def _put(self, item: _Item) -> None:
        if self._closed:
            _resolve(item, sent=False)
            return
        self._items.append(item)
        self._wake.set()

    async def _send_one(self, item: _Item) -> None:
        if item.owner is not None and item.owner.muted:
            _resolve(item, sent=False)
            return
        if item.leaving is not None:
            item.leaving()
        try:
            await self._send(item.data)
        except BaseException:
            _resolve(item, sent=False)
            raise
        _resolve(item, sent=True)


def _resolve(item: _Item, *, sent: bool) -> None:
    if item.sent is not None and not item.sent.done():
        item.sent.set_result(sent)
