"""What the stops of both servers have in common."""

import asyncio
from collections.abc import Callable

TELL_SECONDS = 1.0
"""How long sockets have to say why they end, once the grace is over."""
_POLL_SECONDS = 0.05


async def until_none(count: Callable[[], int], seconds: float) -> None:
    """Wait until `count` is 0, at most so long; neither server tells of a connection's end."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while count() and loop.time() < end:  # noqa: ASYNC110 - there is nothing to wait for
        await asyncio.sleep(_POLL_SECONDS)
