"""What fits a device, and what running out of its memory becomes."""

import pytest
import torch

from tts.engine.errors import SynthesisFailed, VersionUnavailable
from tts.engines.chattts.backend import CacheShape
from tts.engines.chattts.device_memory import (
    DeviceMemory,
    DeviceMemoryExhausted,
    DeviceTooSmall,
    cache_fitting,
    memory_guard,
)

WANTED = CacheShape(64, 1_152)


def test_all_slots_are_taken_where_they_fit() -> None:
    assert cache_fitting(WANTED, 10, 2_000) == WANTED


def test_a_small_device_gets_fewer_slots() -> None:
    assert cache_fitting(WANTED, 10, 1_000) == CacheShape(50, 1_152)


def test_a_device_too_small_for_a_few_slots_is_refused() -> None:
    with pytest.raises(DeviceTooSmall, match="4 slots of 10 MB do not fit half of the 70 MB"):
        cache_fitting(WANTED, 10_000_000, 70_000_000)
    assert cache_fitting(CacheShape(1, 8), 10, 20).slots == 1
    assert issubclass(DeviceTooSmall, VersionUnavailable)


def test_running_out_of_memory_is_an_error_of_the_engines() -> None:
    with (
        pytest.raises(DeviceMemoryExhausted, match="no memory left for a step") as caught,
        memory_guard("a step"),
    ):
        raise torch.OutOfMemoryError("CUDA out of memory")
    assert isinstance(caught.value, SynthesisFailed)
    assert caught.value.retry_after is not None


def test_other_errors_pass() -> None:
    with pytest.raises(RuntimeError, match="other"), memory_guard("a step"):
        raise RuntimeError("other")


def test_memory_adds_up() -> None:
    assert DeviceMemory(1, 2, 3, 4).total == 10
