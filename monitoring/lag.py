"""How late an event loop is: what every connection of a process waits for."""

import asyncio
from collections.abc import Callable

INTERVAL_SECONDS = 0.05


async def loop_lag_watch(
    observe: Callable[[float], None], *, interval: float = INTERVAL_SECONDS
) -> None:
    """Sleep again and again, and tell `observe` by how many seconds each awakening was late.

    Runs until cancelled.
    """
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + interval
        await asyncio.sleep(interval)
        observe(max(0.0, loop.time() - due))
