"""The time that a benchmark may take, and what it says meanwhile."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from voicehost.bench.errors import BudgetSpent

T = TypeVar("T")


class Budget:
    """`seconds` from now on, divided among the parts of a run."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        if seconds <= 0:
            raise ValueError(f"a budget is more than 0 s, not {seconds}")
        self.seconds = seconds
        self._clock = clock
        self._began = clock()

    def use(self, seconds: float) -> None:
        """Count `seconds` that were spent before the beginning."""
        self._began -= seconds

    @property
    def spent(self) -> float:
        """Seconds since the beginning."""
        return self._clock() - self._began

    @property
    def left(self) -> float:
        """Seconds until the end, at least 0."""
        return max(0.0, self.seconds - self.spent)

    def part(self, share: float, *, most: float) -> "Budget":
        """A budget of `share` of what is left, at most `most` seconds, from now on."""
        return Budget(max(1e-3, min(most, share * self.left)), self._clock)

    async def within(self, work: Awaitable[T]) -> T:
        """What `work` gives; cancels it and raises BudgetSpent when nothing is left."""
        try:
            async with asyncio.timeout(self.left) as limit:
                return await work
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise BudgetSpent(f"the {self.seconds:.0f} s are spent") from error


class Progress:
    """Says on one line what is going on, with the time spent and the budget."""

    def __init__(self, budget: Budget, write: Callable[[str], object]) -> None:
        self._budget = budget
        self._write = write

    def say(self, text: str) -> None:
        """Write the line."""
        self._write(f"[{self._budget.spent:5.1f} of {self._budget.seconds:.0f} s] {text}")

    def part(self, text: str, *, needs: float = 0.0) -> None:
        """Say that a part begins, which takes `needs` seconds at least.

        Raises BudgetSpent where the budget does not hold them.
        """
        left = self._budget.left
        if left <= needs:
            takes = f" (it takes about {needs:.0f} s, and {left:.0f} s are left)" if needs else ""
            raise BudgetSpent(f"{text}{takes}")
        self.say(text)
