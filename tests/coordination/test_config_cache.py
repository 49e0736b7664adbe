"""What is read from the database is kept for one epoch, and loaded once for all who ask."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from coordination.epoch import ENTRY_MAX_AGE, EPOCH_MAX_AGE, ConfigCache


class World:
    """An epoch, a clock and a value to be loaded, all in the test's hands."""

    def __init__(self) -> None:
        self.epoch = "one"
        self.now = 0.0
        self.value = "old"
        self.loads = 0
        self.epoch_reads = 0
        self.cache = ConfigCache(read_epoch=self._read_epoch, clock=lambda: self.now)

    async def _read_epoch(self) -> str:
        self.epoch_reads += 1
        return self.epoch

    async def load(self) -> str:
        self.loads += 1
        value = self.value
        await asyncio.sleep(0)
        return value

    async def get(self, load: Callable[[], Awaitable[str]] | None = None) -> str:
        return await self.cache.get("key", load or self.load)


async def test_a_value_is_loaded_once() -> None:
    world = World()
    assert await world.get() == "old"
    assert await world.get() == "old"
    assert (world.loads, world.epoch_reads) == (1, 1)


async def test_a_new_epoch_is_seen_within_half_a_second() -> None:
    world = World()
    await world.get()
    world.value, world.epoch = "new", "two"
    world.now += EPOCH_MAX_AGE + 0.01
    assert EPOCH_MAX_AGE < 0.5
    assert await world.get() == "new"


async def test_an_epoch_from_elsewhere_counts_at_once() -> None:
    world = World()
    await world.get()
    world.value = "new"
    world.cache.observe("two")
    assert await world.get() == "new"


async def test_values_age_even_in_one_epoch() -> None:
    world = World()
    await world.get()
    world.value = "new"
    world.now += ENTRY_MAX_AGE + 1
    assert await world.get() == "new"


async def test_many_who_ask_at_once_load_once() -> None:
    world = World()
    assert await asyncio.gather(*(world.get() for _ in range(20))) == ["old"] * 20
    assert world.loads == 1


async def test_who_asked_first_may_leave() -> None:
    world = World()
    first = asyncio.create_task(world.get())
    await asyncio.sleep(0)
    second = asyncio.create_task(world.get())
    await asyncio.sleep(0)
    first.cancel()
    assert await second == "old"
    assert world.loads == 1


async def test_a_change_during_the_load_is_not_hidden() -> None:
    world = World()
    gate = asyncio.Event()

    async def slow() -> str:
        value = world.value
        await gate.wait()
        return value

    asking = asyncio.create_task(world.get(slow))
    await asyncio.sleep(0)
    world.value = "new"
    world.cache.observe("two")
    gate.set()
    await asking
    assert await world.get() == "new"


async def test_a_failed_load_is_tried_again() -> None:
    world = World()

    async def fail() -> str:
        raise ConnectionError("no database")

    with pytest.raises(ConnectionError):
        await world.get(fail)
    assert await world.get() == "old"
