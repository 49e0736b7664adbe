"""A process tells how late its event loop is."""

import asyncio
import time

import pytest

from monitoring.lag import loop_lag_watch


async def test_an_idle_loop_is_observed_again_and_again() -> None:
    seen: list[float] = []
    watch = asyncio.create_task(loop_lag_watch(seen.append, interval=0.001))
    async with asyncio.timeout(10):
        while len(seen) < 3:
            await asyncio.sleep(0)
    watch.cancel()
    with pytest.raises(asyncio.CancelledError):
        await watch
    assert all(lag >= 0.0 for lag in seen)


async def test_blocking_the_loop_is_lateness() -> None:
    seen: list[float] = []
    watch = asyncio.create_task(loop_lag_watch(seen.append, interval=0.001))
    await asyncio.sleep(0)
    until = time.monotonic() + 0.05
    while time.monotonic() < until:
        """Whoever computes on the loop holds everybody up."""
    async with asyncio.timeout(10):
        while not seen:
            await asyncio.sleep(0)
    watch.cancel()
    assert seen[0] >= 0.045
