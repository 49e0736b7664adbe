"""What a listener hears: audio that arrives, against the clock of a player."""

from dataclasses import dataclass, field

HOLD_BACK = 0.2
"""Seconds of audio that a player gathers before it begins, so that jitter is not heard."""


@dataclass(slots=True)
class Playback:
    """One stream played from its first byte on; times are seconds of one clock.

    `lateness` has an entry for each arrival: how long after the moment at which
    an unbuffered player would have needed it, 0.0 when in time. A player that
    holds back `HOLD_BACK` runs dry only beyond that: `underruns` counts it.
    """

    bytes_per_second: int
    began: float | None = None
    received: int = 0
    lateness: list[float] = field(default_factory=list)
    underruns: int = 0

    def arrived(self, count: int, now: float) -> None:
        """`count` bytes came at `now`."""
        if self.began is None:
            self.began = now
        due = self.began + self.received / self.bytes_per_second
        late = max(0.0, now - due)
        self.lateness.append(late)
        self.underruns += late > HOLD_BACK
        self.received += count

    def ahead(self, now: float) -> float:
        """Seconds of audio that are here and not played yet; negative once it has run dry."""
        if self.began is None:
            return 0.0
        return self.received / self.bytes_per_second - (now - self.began)
