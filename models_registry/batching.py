"""Batching settings of a version, as values."""

from dataclasses import dataclass

from coordination.clipping import clipped
from models_registry.errors import BatchingInvalid


@dataclass(frozen=True, slots=True)
class Batching:
    """`max_slots` and `max_batch` in utterances, `max_wait_ms` in milliseconds.

    Every instance is in range: construction raises BatchingInvalid.
    """

    max_slots: int = 8
    max_batch: int = 8
    max_wait_ms: int = 50

    def __post_init__(self) -> None:
        for name, value, low, high, unit in (
            ("max_slots", self.max_slots, 1, 1024, "utterances"),
            ("max_batch", self.max_batch, 1, self.max_slots, "utterances (the slots)"),
            ("max_wait_ms", self.max_wait_ms, 0, 1000, "ms"),
        ):
            if not low <= value <= high:
                raise BatchingInvalid(
                    f"{name} must be {low} to {high} {unit}, not {clipped(value)}", param=name
                )
