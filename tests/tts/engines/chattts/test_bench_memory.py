"""A profile's memory is measured in a process of its own, which may also die."""

import os
from pathlib import Path

import pytest

from tts.engine.errors import VersionUnavailable
from tts.engine.request import Profile
from tts.engines.base import Device
from tts.engines.chattts.bench import memory
from tts.engines.chattts.bench.memory import Memory, apart, loaded_measure
from tts.engines.chattts.profile import PROFILES

CPU = Device("cpu", 1)
KEPT = 32 << 20


def die() -> None:
    os._exit(9)


def test_a_loaded_profile(chattts_tiny: Path) -> None:
    found = apart(loaded_measure, chattts_tiny, Profile.REALTIME, CPU)
    assert found.slots == PROFILES[Profile.REALTIME].cache.slots
    assert found.slot > 0
    # The cache is touched when it is made.
    assert found.after.anonymous - found.before.anonymous > found.slots * found.slot
    # Resident memory may even fall meanwhile: what other processes come to map counts less then.
    assert min(found.before.resident, found.after.resident) > 1 << 20


def test_no_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(VersionUnavailable):
        apart(loaded_measure, tmp_path, Profile.REALTIME, CPU)


def test_a_process_that_was_killed() -> None:
    with pytest.raises(VersionUnavailable, match="was killed"):
        apart(die)


def keep_and_drop() -> tuple[int, int, int]:
    """Anonymous memory before, with and after `KEPT` bytes."""
    before = Memory.read().anonymous
    kept = os.urandom(KEPT)
    grown = Memory.read().anonymous
    del kept
    return before, grown, Memory.read().anonymous


def test_memory_follows_what_is_kept() -> None:
    # In a process of its own: this one's other threads come by memory, and give it back, too.
    before, grown, after = apart(keep_and_drop)
    assert grown - before > KEPT * 0.9
    assert grown - after > KEPT * 0.9


@pytest.mark.parametrize(("field", "added"), [("Anonymous", 8), ("Swap", 8), ("Pss", 0)])
def test_what_is_swapped_out_is_held_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, field: str, added: int
) -> None:
    kib = {"Rss": 400, "Pss": 300, "Anonymous": 200, "Swap": 50}
    kib[field] += added
    rollup = tmp_path / "smaps_rollup"
    lines = [f"{name}:  {count} kB" for name, count in kib.items()]
    rollup.write_text("\n".join(["1000-2000 ---p 00000000 00:00 0  [rollup]", *lines, ""]))
    monkeypatch.setattr(memory, "_ROLLUP", rollup)
    assert Memory.read() == Memory(kib["Pss"] << 10, 250 + added << 10)
