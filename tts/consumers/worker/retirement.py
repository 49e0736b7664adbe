"""Versions that are to be unloaded once nobody speaks with them any more."""

from collections.abc import Awaitable, Callable, Collection

RETIRE_SECONDS = 2.0
"""A version without weight serves for this long after its last request: routes reach
every process within a second."""
RETIRE_CHECK_SECONDS = 0.5


class Retirement:
    """Since when versions that are leaving have been idle.

    `count` tells the requests that this worker has for a version, `count_leases` those of all
    processes.
    """

    def __init__(
        self,
        count: Callable[[str], int],
        count_leases: Callable[[str], Awaitable[int]],
        clock: Callable[[], float],
    ) -> None:
        self._count = count
        self._count_leases = count_leases
        self._clock = clock
        self._idle_since: dict[str, float] = {}

    def __bool__(self) -> bool:
        """Whether any version is leaving."""
        return bool(self._idle_since)

    async def due(self, leaving: Collection[str]) -> list[str]:
        """Which of the versions that are leaving may be unloaded now."""
        now = self._clock()
        found = []
        self._idle_since = {key: at for key, at in self._idle_since.items() if key in leaving}
        for version in leaving:
            if self._count(version) > 0 or version not in self._idle_since:
                self._idle_since[version] = now
            elif now - self._idle_since[version] >= RETIRE_SECONDS:
                if await self._count_leases(version):
                    self._idle_since[version] = now
                elif self._count(version) == 0:
                    del self._idle_since[version]
                    found.append(version)
        return found
