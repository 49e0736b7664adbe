"""Clients that have ended their half of a connection, and may or may not be there still.

Who says all that it has to say and then waits (`nc`, some proxies) sends what
one sends who closes: an end of its output. Only an answer tells them apart: the
kernel of a client that is gone resets the connection at the first byte. So
something harmless is written at once, and the reset is looked for.
"""

import asyncio
import select
from collections.abc import Callable

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
"""Before an answer: an interim one, of which HTTP/1.1 allows any number (RFC 9110, 15.2)."""
LEADING_ZERO = b"0"
"""Between two chunks: a digit that changes nothing of the next one's length (RFC 9112, 7.1)."""

_LOOK_SECONDS = 0.05
_SILENT_SECONDS = 0.15
"""How long a client that cannot be asked waits for an answer's first byte."""


class HalfClosed:
    """Looks for the reset of one connection until `end`.

    `gone` is called, once, when it came, or when the client cannot be asked and
    the answer has not begun in time. An event loop that waits for neither
    reading nor writing does not tell of resets, and reading an end again and
    again would keep it busy.
    """

    __slots__ = ("_begun", "_gone", "_patience", "_poll", "_timer")

    def __init__(
        self, fd: int, *, asked: bool, begun: Callable[[], bool], gone: Callable[[], None]
    ) -> None:
        self._poll = select.poll()
        # Without events of its own: errors and resets are always told.
        self._poll.register(fd, 0)
        self._begun = begun
        self._gone = gone
        self._patience = None if asked else asyncio.get_running_loop().time() + _SILENT_SECONDS
        self._timer = self._later()

    def end(self) -> None:
        """Look no longer: the connection is over."""
        self._timer.cancel()

    def _later(self) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(_LOOK_SECONDS, self._look)

    def _look(self) -> None:
        if self._poll.poll(0) or self._impatient():
            self._gone()
        else:
            self._timer = self._later()

    def _impatient(self) -> bool:
        late = self._patience is not None and asyncio.get_running_loop().time() > self._patience
        return late and not self._begun()
