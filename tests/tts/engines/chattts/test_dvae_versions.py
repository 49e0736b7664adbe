"""A version without the Decoder speaks from audio tokens, by its DVAE."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.tts.engines.chattts.closeness import relative_error
from tests.tts.engines.chattts.damaged import copied
from tests.tts.engines.chattts.speaking import Bench
from tests.tts.engines.chattts.vocoder_parts import Parts
from tts.engine.errors import VersionUnavailable
from tts.engine.request import Profile
from tts.engines.base import Samples
from tts.engines.chattts import layout
from tts.engines.chattts.backend import Precision
from tts.engines.chattts.checkpoint import Checkpoint
from tts.engines.chattts.manifest import BY_DVAE, chattts_manifest
from tts.engines.chattts.mel_decoder import MelDecoder
from tts.engines.chattts.projection import projections_create
from tts.engines.chattts.smoke import smoke_speak
from tts.engines.chattts.vocoder import Vocoder
from tts.engines.chattts.windows import Window
from tts.engines.shards import LocalShards

BFLOAT16 = 0.03
"""What a vocoder in bfloat16 may be off by."""


@pytest.fixture
def bare(chattts_tiny: Path, tmp_path: Path) -> Path:
    """A checkpoint without Decoder.safetensors."""
    (copied(chattts_tiny, tmp_path / "bare") / layout.DECODER).unlink()
    return tmp_path / "bare"


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> list[Window]:
    """All windows that any vocoder decodes, as they come."""
    seen: list[Window] = []
    decode: Callable[[Vocoder, Sequence[Window]], list[Samples]] = Vocoder.decode

    def noted(vocoder: Vocoder, windows: Sequence[Window]) -> list[Samples]:
        seen.extend(windows)
        return decode(vocoder, windows)

    monkeypatch.setattr(Vocoder, "decode", noted)
    return seen


def test_what_is_spoken_is_the_dvae_of_its_tokens(
    chattts_tiny: Path, bare: Path, windows: list[Window]
) -> None:
    bench = Bench.load(bare, Profile.REALTIME, use_decoder=False)
    (audio,) = bench.speak(bench.prepare("hello there, this is a test"))
    bench.engine.close()
    codes = np.concatenate([window.rows[: window.settled] for window in windows])
    assert len(windows) > 2
    assert codes.shape[1] == 4
    expected = Parts.read(chattts_tiny).vocoder(codes=True).whole(codes)
    assert audio.shape == expected.shape
    assert relative_error(audio, expected) < BFLOAT16


@pytest.mark.parametrize("profile", list(Profile))
def test_a_seed_is_the_same_beside_others(bare: Path, profile: Profile) -> None:
    bench = Bench.load(bare, profile, use_decoder=False)
    (alone,) = bench.speak(bench.prepare("hello there", seed=5))
    other = bench.prepare("some other words, and more of them", seed=6)
    beside, _ = bench.speak(bench.prepare("hello there", seed=5), other)
    bench.engine.close()
    np.testing.assert_array_equal(alone, beside)


def test_it_is_another_version_of_the_same_files(chattts_tiny: Path, bare: Path) -> None:
    whole, given = (chattts_manifest(folder, use_decoder=False) for folder in (chattts_tiny, bare))
    assert whole.version == given.version != chattts_manifest(chattts_tiny).version
    assert whole.model.decoder is None
    assert whole.source.endswith(BY_DVAE)
    assert "decoder" not in [shard.name for shard in whole.shards]
    smoke_speak(LocalShards(given.shards))


def test_without_being_asked_for_it_is_no_checkpoint(bare: Path) -> None:
    with pytest.raises(VersionUnavailable, match=f"has no {layout.DECODER}"):
        chattts_manifest(bare)
    config = Checkpoint.open(bare, use_decoder=False).config
    projections = projections_create(torch.device("cpu"), Precision.FP32, 1)
    with pytest.raises(VersionUnavailable, match="has no Decoder"):
        MelDecoder.from_decoder(b"", config, "cpu", projections)
