"""Each profile's numbers are compared with float32 on the same tokens."""

from pathlib import Path

import pytest

from tts.engine.request import Profile
from tts.engines.chattts.bench.numeric import NumericErrors
from tts.engines.chattts.manifest import chattts_manifest
from tts.engines.shards import LocalShards


def test_exacter_profiles_are_nearer_to_float32(chattts_tiny: Path) -> None:
    shards = LocalShards(chattts_manifest(chattts_tiny).shards)
    errors = NumericErrors(shards, 40, threads=1)
    realtime, standard, hq = (errors.of(profile) for profile in Profile)
    assert hq.hidden < 1e-5
    assert hq.audio < 1e-4
    assert hq.vocoder == 0
    assert hq.hidden < standard.hidden < realtime.hidden < 0.1
    assert hq.logits < standard.logits < realtime.logits < realtime.spread
    assert standard.changed <= realtime.changed < 0.2
    assert standard.vocoder == realtime.vocoder == pytest.approx(standard.audio, rel=1.0)
