"""A configuration epoch under a test's control."""


class Epoch:
    """The configuration epoch, changed by `bump`."""

    def __init__(self) -> None:
        self.value = 0
        self.now = 0.0

    async def read(self) -> str:
        """The epoch, as a process would read it from Redis."""
        return str(self.value)

    def bump(self) -> None:
        """A change was committed, and half a second has passed."""
        self.value += 1
        self.now += 0.5
