"""A decode step is timed at each context, and what a context adds is held against reading it."""

from pathlib import Path

import pytest

from tts.engine.request import Profile
from tts.engines.base import Device
from tts.engines.chattts.bench import context
from tts.engines.chattts.bench.context import Case, DecodeStep, increase
from tts.engines.chattts.manifest import chattts_manifest
from tts.engines.shards import LocalShards

CPU = Device("cpu", 1)


def test_increase_is_over_the_shortest_context() -> None:
    # 2 rows, 10 and 30 tokens more of 5 bytes: 100 and 300 bytes, 1 and 3 seconds.
    found = increase([4.0, 5.0, 10.0], [50, 60, 80], 2, 5.0, 100.0)
    assert found == pytest.approx([1.0, 2.0])


@pytest.mark.parametrize("profile", Profile)
def test_steps_of_every_case_are_timed(chattts_tiny: Path, profile: Profile) -> None:
    step = DecodeStep(LocalShards(chattts_manifest(chattts_tiny).shards), profile, CPU, 4)
    found = step.seconds([Case(2, 50), Case(4, context.CONTEXTS[-1])], 0.0)
    assert all(0 < seconds < 10 for seconds in found)
    # Keys and values of a byte each at least; pages that are not full count too.
    assert step.token_bytes >= step.config.cache_values
    step.close()


def test_the_least_of_several_rounds_counts(
    chattts_tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = DecodeStep(LocalShards(chattts_manifest(chattts_tiny).shards), Profile.HQ, CPU, 2)
    times = iter([0.0, 0.0, 5.0, 9.0, 3.0, 8.0, 4.0, 7.0])
    monkeypatch.setattr(DecodeStep, "_step", lambda self, case: next(times))
    assert step.seconds([Case(1, 50), Case(2, 50)], 0.0) == [3.0, 7.0]
    step.close()
