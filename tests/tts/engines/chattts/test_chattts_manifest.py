"""A checkpoint's manifest names every file with its hash, and says what it is."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from models_registry.manifest import Manifest
from tests.tts.engines.chattts.damaged import Tensors, copied, rewrite
from tts.engine.errors import VersionUnavailable
from tts.engines.chattts import layout, manifest
from tts.engines.chattts.config_json import config_from_json
from tts.engines.chattts.manifest import chattts_manifest, release_statistics
from tts.engines.chattts.random_tokenizer import tokenizer_write
from tts.engines.chattts.speaker import SpeakerStatistics
from tts.engines.shards import LocalShards


def test_manifest_of_a_checkpoint(chattts_tiny: Path) -> None:
    found = chattts_manifest(chattts_tiny, "1")
    registered = Manifest.from_json(found.to_json())
    assert [shard.name for shard in registered.shards] == [
        *("config", "speaker", "tokenizer", "embed", "gpt", "decoder", "dvae", "vocos")
    ]
    assert (registered.engine, registered.version, registered.commercial_use) == (
        *("chattts", "1"),
        False,
    )
    assert registered.source == "random weights, size tiny, seed 0, ends never"
    shards = LocalShards.of(registered)
    asset = chattts_tiny / "asset"
    for name, file in (("gpt", layout.GPT), ("tokenizer", layout.TOKENIZER)):
        assert shards.read(name) == (asset / file).read_bytes()
    assert config_from_json(json.loads(bytes(shards.read("config")))) == found.model
    speaker = json.loads((asset / layout.SPEAKER).read_text())
    assert str(shards.read("speaker"), "utf-8") == speaker["spk_stat"]
    assert chattts_manifest(asset).version == chattts_manifest(chattts_tiny).version


def test_the_release_is_known_by_its_hashes(
    chattts_tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asset = copied(chattts_tiny, tmp_path / "c")
    (asset / layout.SPEAKER).unlink()
    text = json.loads((chattts_tiny / "asset" / layout.SPEAKER).read_text())["spk_stat"]
    monkeypatch.setattr(manifest, "release_statistics", lambda: text)
    other = chattts_manifest(asset)
    assert other.licence == "CC-BY-NC-4.0"
    assert other.source == "a ChatTTS checkpoint; 0 of its files are those of the original release"
    hashes = {name: manifest._sha256(asset / name) for name in manifest.RELEASE_HASHES}
    monkeypatch.setattr(manifest, "RELEASE_HASHES", hashes)
    same = chattts_manifest(asset)
    assert (same.version, same.source) == ("release", manifest.RELEASE_SOURCE)


def test_hashes_are_those_in_the_package() -> None:
    package = importlib.util.find_spec("ChatTTS")
    assert package is not None
    assert package.origin is not None
    path = Path(package.origin).parent / "res" / "sha256_map.json"
    named = {
        f"sha256_asset_{name.replace('/', '_').replace('.', '_')}": value
        for name, value in manifest.RELEASE_HASHES.items()
    }
    assert named == json.loads(path.read_text())


def test_statistics_of_the_release() -> None:
    statistics = SpeakerStatistics.read(release_statistics(), 768)
    assert (statistics.deviation > 0).all()
    assert 10 < np.linalg.norm(statistics.random(2)) < 200


def test_tokenizer_of_another_model(chattts_tiny: Path, tmp_path: Path) -> None:
    asset = copied(chattts_tiny, tmp_path / "c")
    tokenizer_write(asset, full=True)
    with pytest.raises(VersionUnavailable, match=r"tokenizer.json: has 21,178 tokens, Embed.saf"):
        chattts_manifest(asset)


def test_values_are_looked_at(chattts_tiny: Path, tmp_path: Path) -> None:
    def spoil(tensors: Tensors) -> None:
        tensors["coef"][0, 0, 0] = np.nan

    asset = copied(chattts_tiny, tmp_path / "c")
    rewrite(asset / layout.DVAE, spoil)
    with pytest.raises(VersionUnavailable, match=r"DVAE.safetensors: tensor 'coef' has values"):
        chattts_manifest(asset)


@pytest.mark.parametrize("content", ["[]", "{", "{}", '{"spk_stat": "一"}', '{"spk_stat": 5}'])
def test_statistics_that_are_none(chattts_tiny: Path, tmp_path: Path, content: str) -> None:
    asset = copied(chattts_tiny, tmp_path / "c")
    (asset / layout.SPEAKER).write_text(content)
    with pytest.raises(VersionUnavailable, match=r"spk_stat|statistics of speakers"):
        chattts_manifest(asset)
