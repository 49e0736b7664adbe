"""Backpressure of one connection: senders wait while its output buffer is full.

Twisted tells a registered producer to pause when more than 64 KiB wait in user
space, and to resume when they are gone. Daphne registers none, so that whatever
an application sends piles up in memory.
"""

import asyncio
from collections.abc import Callable

from twisted.internet.interfaces import IPushProducer
from zope.interface import implementer


@implementer(IPushProducer)
class TransportFlow:
    """The producer that stands for an application's `send`.

    `abort` is called when the transport made no room for `stall_seconds`; those
    who wait then get TimeoutError.
    """

    __slots__ = ("_abort", "_closed", "_resumed", "_stall_seconds", "_stalled", "_timer")

    def __init__(self, stall_seconds: float, abort: Callable[[], None]) -> None:
        self._stall_seconds = stall_seconds
        self._abort = abort
        self._resumed: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._stalled = False
        self._closed = False

    @property
    def paused(self) -> bool:
        """Whether the transport's buffer is full."""
        return self._resumed is not None

    async def drained(self) -> None:
        """Wait until there is room, or the connection is gone; raises TimeoutError."""
        if self._resumed is not None:
            await asyncio.shield(self._resumed)
        if self._stalled:
            raise TimeoutError(f"nothing was read for {self._stall_seconds:g} seconds")

    def pauseProducing(self) -> None:
        """The buffer is full."""
        if self._resumed is None and not self._closed:
            loop = asyncio.get_running_loop()
            self._resumed = loop.create_future()
            self._timer = loop.call_later(self._stall_seconds, self._stall)

    def resumeProducing(self) -> None:
        """The buffer is empty."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        resumed, self._resumed = self._resumed, None
        if resumed is not None and not resumed.done():
            resumed.set_result(None)

    def stopProducing(self) -> None:
        """The connection is gone: nobody has to wait for it."""
        self._closed = True
        self.resumeProducing()

    def _stall(self) -> None:
        self._stalled = True
        self.stopProducing()
        self._abort()
