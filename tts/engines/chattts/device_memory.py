"""Memory of a CUDA device: what fits, what is taken, and what running out of it means.

SynthesisFailed
└── DeviceMemoryExhausted  the device had no memory left for this step
VersionUnavailable
└── DeviceTooSmall         weights and cache do not fit what is free
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import torch

from tts.engine.errors import SynthesisFailed, VersionUnavailable
from tts.engines.chattts.backend import CacheShape

_CACHE_SHARE: Final = 0.5
"""Of the free memory, that one backend's cache may take: other profiles come after it."""
_LEAST_SLOTS: Final = 4
_RETRY_SECONDS: Final = 30.0
_MB: Final = 1e6


class DeviceMemoryExhausted(SynthesisFailed):
    """The device had no memory left for this step; what was computed before stays."""


class DeviceTooSmall(VersionUnavailable):
    """Weights and cache do not fit what is free on the device."""


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """Bytes that a backend holds on its device: `graphs` is what capturing them took."""

    weights: int
    cache: int
    buffers: int
    graphs: int

    @property
    def total(self) -> int:
        """All of it."""
        return self.weights + self.cache + self.buffers + self.graphs


@contextmanager
def memory_guard(what: str) -> Iterator[None]:
    """Turn torch's error into DeviceMemoryExhausted, and give cached memory back first."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        # The traceback's frames hold the tensors of the step that failed.
        error.__traceback__ = None
        memory_release()
        raise DeviceMemoryExhausted(
            f"the device has no memory left for {what}", retry_after=_RETRY_SECONDS
        ) from error


def memory_release() -> None:
    """Collect what only cycles keep, and give torch's cached memory back to the device."""
    if torch.cuda.is_available():
        gc.collect()
        torch.cuda.empty_cache()


def memory_free(device: torch.device) -> int:
    """Bytes that are free on a CUDA device, those that torch caches for itself among them."""
    free, _ = torch.cuda.mem_get_info(device)
    cached = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(free) + max(0, cached)


def cache_fitting(wanted: CacheShape, slot_bytes: int, free: int) -> CacheShape:
    """`wanted`, or as many of its slots as half of the `free` bytes hold.

    Raises DeviceTooSmall where that is less than a few.
    """
    slots = min(wanted.slots, int(free * _CACHE_SHARE) // slot_bytes)
    least = min(_LEAST_SLOTS, wanted.slots)
    if slots < least:
        raise DeviceTooSmall(
            f"{least} slots of {slot_bytes / _MB:.0f} MB do not fit half of the "
            f"{free / _MB:.0f} MB that are free on the device"
        )
    return CacheShape(slots, wanted.positions)


def memory_allocated(device: torch.device) -> int:
    """Bytes of tensors on a CUDA device; 0 elsewhere."""
    return torch.cuda.memory_allocated(device) if device.type == "cuda" else 0


def memory_reserved(device: torch.device) -> int:
    """Bytes that torch holds of a CUDA device; 0 elsewhere."""
    return torch.cuda.memory_reserved(device) if device.type == "cuda" else 0
