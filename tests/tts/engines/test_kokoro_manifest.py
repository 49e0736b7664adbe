"""What a Kokoro version consists of."""

from pathlib import Path

import numpy as np
import pytest

from models_registry.manifest import Manifest
from tests.requirement import missing
from tts.engine.errors import VersionUnavailable
from tts.engines.kokoro import manifest
from tts.engines.kokoro.manifest import bundled_available, bundled_manifest, official_manifest
from tts.engines.kokoro.model import Vocabulary
from tts.engines.shards import LocalShards


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """The official release's files, with a model that is none."""
    pack = np.zeros((510, 1, 256), dtype=np.float32)
    with (tmp_path / "voices-v1.0.bin").open("wb") as stream:
        np.savez(stream, af_heart=pack, zf_xiaoyi=pack, jf_alpha=pack)
    (tmp_path / "kokoro-v1.0.onnx").write_bytes(b"not onnx")
    return tmp_path


def test_the_bundled_version_is_a_manifest_of_the_registry() -> None:
    bundled = bundled_manifest()
    read = Manifest.from_json(bundled.to_json())
    assert read.engine == "kokoro"
    assert {shard.name for shard in read.shards} == {"vocab", "voices", "distilled", "full"}
    assert len(read.speakers) == 8
    assert read.commercial_use


def test_the_bundled_bytes_are_the_ones_in_the_manifest() -> None:
    reason = bundled_available()
    if reason is not None:
        missing(reason)
    shards = LocalShards(bundled_manifest().shards)
    for shard in bundled_manifest().shards:
        assert len(shards.read(shard.name)) == shard.bytes


def test_speakers_name_a_companion_for_the_other_language() -> None:
    speakers = {speaker.speaker: speaker for speaker in bundled_manifest().speakers}
    for speaker in speakers.values():
        assert speakers[speaker.companion].languages != speaker.languages
        assert -6.0 < speaker.gain_db < 6.0
    assert speakers["zm_yunjian"].companion == "am_michael"
    assert speakers["bf_emma"].accent == "en-GB"


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(manifest.PACKAGES, "no_such_module", "no-such-distribution")
    reason = bundled_available()
    assert reason is not None
    assert "no-such-distribution" in reason


def test_the_official_release_is_read_from_its_folder(release: Path) -> None:
    official = official_manifest(release)
    assert [speaker.speaker for speaker in official.speakers] == ["af_heart", "zf_xiaoyi"]
    assert official.speakers[1].companion == "af_heart"
    assert official.speakers[0].companion == ""
    assert bytes(LocalShards(official.shards).read("full")) == b"not onnx"
    Manifest.from_json(official.to_json())


def test_an_incomplete_release_says_what_it_needs(release: Path) -> None:
    (release / "second.onnx").write_bytes(b"")
    with pytest.raises(VersionUnavailable, match=r"found kokoro-v1\.0\.onnx, second\.onnx"):
        official_manifest(release)
    (release / "second.onnx").unlink()
    (release / "voices-v1.0.bin").write_bytes(b"no npz")
    with pytest.raises(VersionUnavailable, match="no npz of style packs"):
        official_manifest(release)
    (release / "voices-v1.0.bin").unlink()
    with pytest.raises(VersionUnavailable, match="voices"):
        official_manifest(release)
    with pytest.raises(VersionUnavailable, match="no folder"):
        official_manifest(release / "nowhere")


@pytest.mark.parametrize("content", [b"", b"[]", b'{"vocab": {"a": "x"}}', b"\xff"])
def test_a_broken_vocabulary_is_refused(content: bytes) -> None:
    with pytest.raises(VersionUnavailable, match="vocabulary"):
        Vocabulary(content)
