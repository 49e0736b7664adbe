"""The versions are read again soon after a read that failed."""

import asyncio
from collections.abc import Collection
from itertools import pairwise

from tests.scripted_core import ScriptedCore
from tests.tts.gateway.platform_in_process import InstantLoader
from tests.virtual_time import VirtualTimeLoop
from tts.consumers.worker.engines import RECONCILE_SECONDS, Engines
from tts.consumers.worker.failures import READ_RETRY_FIRST
from tts.consumers.worker.loading import Version
from tts.engine.errors import VersionUnavailable


class Reads:
    """Reads of the versions by a worker, and when they were; those of `failing` fail."""

    def __init__(self, *failing: int) -> None:
        self.at: list[float] = []
        self._failing = failing

    async def read(self) -> Collection[Version]:
        self.at.append(asyncio.get_running_loop().time())
        number = len(self.at) - 1
        if number in self._failing:
            raise VersionUnavailable("no database") if number % 2 else OSError("no database")
        return ()

    def pauses(self, seconds: float) -> list[float]:
        """The pauses between the reads of so many seconds."""
        with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
            runner.run(self._run(seconds))
        return [later - earlier for earlier, later in pairwise(self.at)]

    async def _run(self, seconds: float) -> None:
        engines = Engines(
            ScriptedCore(lambda events: None),
            InstantLoader(),
            self.read,
            self._count,
            changed=lambda: None,
            shown=self._shown,
        )
        task = asyncio.create_task(engines.run())
        await asyncio.sleep(seconds)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def _count(self, version: str) -> int:
        return 0

    async def _shown(self) -> None:
        return None


def test_they_are_read_at_least_every_so_often() -> None:
    assert Reads().pauses(3.5 * RECONCILE_SECONDS) == [RECONCILE_SECONDS] * 3


def test_a_failed_read_is_tried_again_soon_and_less_and_less_often() -> None:
    reads = Reads(*range(8))
    first = READ_RETRY_FIRST
    growing = [first, 2 * first, 4 * first, 8 * first, 16 * first, 32 * first]
    assert reads.pauses(100) == [*growing, RECONCILE_SECONDS, RECONCILE_SECONDS]


def test_after_a_success_it_begins_anew() -> None:
    first = READ_RETRY_FIRST
    expected = [first, 2 * first, RECONCILE_SECONDS, first, RECONCILE_SECONDS]
    assert Reads(0, 1, 3).pauses(65) == expected
