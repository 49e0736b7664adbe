"""How much memory of one device the shards of a worker may take."""

from dataclasses import dataclass

HIGH_WATER = 0.9
MINIMUM_RESIDENCY = 10.0


@dataclass(frozen=True, slots=True)
class ShardBudget:
    """Bytes for residents on one device, and when to make room.

    `limit` is never exceeded by what is accounted; above `high_water` of it residents
    that nobody needs are evicted. A resident stays `minimum_residency` seconds at
    least: without that, versions that do not fit together would be loaded for every
    request in turn. `margin` are bytes that the device may report beyond the accounted
    ones before they count: fragmentation, libraries, what requests need.
    """

    limit: int
    high_water: float = HIGH_WATER
    minimum_residency: float = MINIMUM_RESIDENCY
    margin: int = 0

    def __post_init__(self) -> None:
        if self.limit <= 0 or self.margin < 0 or self.minimum_residency < 0:
            raise ValueError("a budget needs a limit above 0, and nothing in it below 0")
        if not 0 < self.high_water <= 1:
            raise ValueError(f"the high water is above 0 and at most 1, not {self.high_water}")

    @property
    def high(self) -> int:
        """The bytes above which eviction starts."""
        return int(self.limit * self.high_water)
