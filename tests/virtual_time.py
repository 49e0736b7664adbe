"""An event loop whose clock jumps to the next thing due, so that waiting takes no time."""

import asyncio
import selectors


class _Jumps(selectors.DefaultSelector):
    """Never waits: tells the loop how long it would have."""

    passed = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        found: list[tuple[selectors.SelectorKey, int]] = super().select(0)
        if not found and timeout:
            self.passed += timeout
        return found


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """Its `time` counts only what was waited for; nothing outside it may be awaited."""

    def __init__(self) -> None:
        self._jumps = _Jumps()
        super().__init__(self._jumps)

    def time(self) -> float:
        """Virtual seconds since the loop was made."""
        return self._jumps.passed
