"""The decoder in shards of a few layers: the same numbers, and shared where layers are equal."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.tts.engines.chattts.damaged import Tensors, copied, rewrite
from tests.tts.engines.chattts.native_reference import native_require
from tts.engine.errors import VersionUnavailable
from tts.engines.base import Device
from tts.engines.chattts import gpt_shards, layout
from tts.engines.chattts.backend import CacheShape, Precision
from tts.engines.chattts.backends import backend_create
from tts.engines.chattts.config import GptConfig
from tts.engines.chattts.config_json import config_from_json, config_to_json
from tts.engines.chattts.gpt_shards import gpt_read, grouped
from tts.engines.chattts.manifest import ChatTtsManifest, chattts_manifest
from tts.engines.shards import LocalShards

CACHE = CacheShape(slots=2, positions=16)


@pytest.fixture(autouse=True)
def one_layer_a_shard(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tiny model has two layers: one in each shard."""
    monkeypatch.setattr(gpt_shards, "LAYERS", 1)


@pytest.fixture
def whole(chattts_tiny: Path) -> ChatTtsManifest:
    return chattts_manifest(chattts_tiny)


@pytest.fixture
def split(whole: ChatTtsManifest, tmp_path: Path) -> ChatTtsManifest:
    return whole.grouped(tmp_path)


def test_groups_are_named_by_their_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpt_shards, "LAYERS", 4)
    config = grouped(replace(GptConfig(), layers=10))
    assert config.groups == (4, 4, 2)
    names = [shard.name for shard in gpt_shards.gpt_shards(config)]
    assert names == ["gpt-00-03", "gpt-04-07", "gpt-08-09"]


def test_the_weights_are_those_of_the_whole(whole: ChatTtsManifest, split: ChatTtsManifest) -> None:
    expected = gpt_read(LocalShards(whole.shards), whole.model.gpt)
    found = gpt_read(LocalShards(split.shards), split.model.gpt)
    assert np.array_equal(found.norm, expected.norm)
    assert np.array_equal(found.heads, expected.heads)
    for ours, theirs in zip(found.layers, expected.layers, strict=True):
        for name in ("input_norm", "qkv", "attention", "output_norm", "gate_up", "down"):
            assert np.array_equal(getattr(ours, name), getattr(theirs, name))


@pytest.mark.parametrize("precision", Precision)
def test_the_decoder_computes_the_same(
    whole: ChatTtsManifest, split: ChatTtsManifest, precision: Precision
) -> None:
    native_require(precision)
    answers = []
    for manifest in (whole, split):
        backend = backend_create(
            LocalShards(manifest.shards), manifest.model.gpt, CACHE, precision, Device(threads=1)
        )
        inputs = np.random.default_rng(1).standard_normal((5, manifest.model.gpt.hidden))
        positions = np.arange(5, dtype=np.int32)
        slots = np.zeros(5, np.int32)
        answers.append(backend.forward(inputs.astype(np.float32), slots, positions, 5))
        backend.close()
    for expected, found in zip(*answers, strict=True):
        assert np.array_equal(found, expected)


def test_versions_that_differ_in_one_layer_share_the_other(
    chattts_tiny: Path, split: ChatTtsManifest, tmp_path: Path
) -> None:
    asset = copied(chattts_tiny, tmp_path / "other")

    def louder(tensors: Tensors) -> None:
        tensors["layers.1.mlp.down_proj.weight"] *= 2

    rewrite(asset / layout.GPT, louder)
    folder = tmp_path / "groups"
    folder.mkdir()
    other = chattts_manifest(tmp_path / "other").grouped(folder)

    ours = {shard.name: shard.sha256 for shard in split.shards}
    theirs = {shard.name: shard.sha256 for shard in other.shards}
    assert {name for name in ours if ours[name] != theirs[name]} == {"gpt-01-01"}


def test_the_bytes_do_not_depend_on_the_order_of_the_file(
    chattts_tiny: Path, split: ChatTtsManifest, tmp_path: Path
) -> None:
    asset = copied(chattts_tiny, tmp_path / "renamed")

    def renamed(tensors: Tensors) -> None:
        for name in sorted(tensors, reverse=True):
            tensors[f"model.{name}"] = tensors.pop(name)

    rewrite(asset / layout.GPT, renamed)
    folder = tmp_path / "groups"
    folder.mkdir()
    other = chattts_manifest(tmp_path / "renamed").grouped(folder)

    assert [shard.sha256 for shard in other.shards] == [shard.sha256 for shard in split.shards]


def test_the_configuration_of_versions_without_groups_keeps_its_bytes(
    whole: ChatTtsManifest, split: ChatTtsManifest
) -> None:
    assert "'groups'" not in str(config_to_json(whole.model))
    assert config_from_json(config_to_json(whole.model)) == whole.model
    assert config_from_json(config_to_json(split.model)) == split.model


def test_groups_must_make_up_the_model(split: ChatTtsManifest) -> None:
    wrong = replace(split.model, gpt=replace(split.model.gpt, groups=(1,)))
    with pytest.raises(VersionUnavailable, match=r"gpt\.groups: 1 does not fit, expected 2"):
        config_from_json(config_to_json(wrong))


def test_a_shard_with_other_layers_is_refused(split: ChatTtsManifest) -> None:
    specs = {spec.name: spec for spec in split.shards}
    swapped = LocalShards(
        [
            replace(specs["gpt-01-01"], name="gpt-00-00"),
            *(spec for spec in split.shards if spec.name != "gpt-00-00"),
        ]
    )
    with pytest.raises(VersionUnavailable, match=r"layers\.0"):
        gpt_read(swapped, split.model.gpt)
