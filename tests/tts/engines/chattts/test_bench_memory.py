"""A profile's memory is measured in a process of its own, which may also die."""

import os
from pathlib import Path

import pytest

from tts.engine.errors import VersionUnavailable
from tts.engine.request import Profile
from tts.engines.base import Device
from tts.engines.chattts.bench.memory import Memory, apart, loaded_measure
from tts.engines.chattts.profile import PROFILES

CPU = Device("cpu", 1)


def die() -> None:
    os._exit(9)


def test_a_loaded_profile(chattts_tiny: Path) -> None:
    found = apart(loaded_measure, chattts_tiny, Profile.REALTIME, CPU)
    assert found.slots == PROFILES[Profile.REALTIME].cache.slots
    assert found.slot > 0
    # The cache is touched when it is made.
    assert found.after.anonymous - found.before.anonymous > found.slots * found.slot
    assert found.after.resident > found.before.resident > 1 << 20


def test_no_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(VersionUnavailable):
        apart(loaded_measure, tmp_path, Profile.REALTIME, CPU)


def test_a_process_that_was_killed() -> None:
    with pytest.raises(VersionUnavailable, match="was killed"):
        apart(die)


def test_memory_follows_what_is_kept() -> None:
    before = Memory.read().anonymous
    kept = os.urandom(32 << 20)
    grown = Memory.read().anonymous
    assert grown - before > len(kept) * 0.9
    del kept
    assert grown - Memory.read().anonymous > (32 << 20) * 0.9
