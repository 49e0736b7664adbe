"""What a shard manager has done and holds, as plain values."""

from dataclasses import dataclass


@dataclass(slots=True)
class ShardCounters:
    """Counts since the start; bytes and seconds of loads and unloads.

    `freed_bytes` is what the device reported less after unloads and failed loads, beside
    `unloaded_bytes`, which were accounted for: a lasting difference is a leak.
    """

    hits: int = 0
    loads: int = 0
    failed_loads: int = 0
    unloads: int = 0
    refused: int = 0
    loaded_bytes: int = 0
    unloaded_bytes: int = 0
    freed_bytes: int = 0
    load_seconds: float = 0.0
    unload_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class HeldResident:
    """One resident: its name, size in bytes, holders by name and the leases on them."""

    name: str
    digests: tuple[str, ...]
    size: int
    holders: tuple[str, ...]
    leases: int
    idle_seconds: float


@dataclass(frozen=True, slots=True)
class ShardStats:
    """A manager at a moment. `reported` bytes are what the device says is in use beyond the
    start; `accounted` includes what is `reserved` for loads; `peak` is its highest value.
    """

    limit: int
    high: int
    accounted: int
    reserved: int
    peak: int
    reported: int
    counters: ShardCounters
    residents: tuple[HeldResident, ...]
