"""Shards on this machine: verified bytes, objects built once."""

import hashlib
import os
import threading
from pathlib import Path

import pytest

from models_registry.errors import ShardMissing
from tts.engine.errors import VersionUnavailable
from tts.engines.shards import LocalShards, ShardSpec


def spec(content: bytes, *sources: str, name: str = "core") -> ShardSpec:
    return ShardSpec(name, "core", sources, len(content), hashlib.sha256(content).hexdigest())


def test_parts_are_joined_in_order(tmp_path: Path) -> None:
    (tmp_path / "1").write_bytes(b"ab")
    (tmp_path / "2").write_bytes(b"cd")
    shards = LocalShards(
        [spec(b"abcdef", f"file:{tmp_path}/1", f"file:{tmp_path}/2", "inline:ZWY=")]
    )
    assert bytes(shards.read("core")) == b"abcdef"


def test_package_files_are_read_without_importing(tmp_path: Path) -> None:
    content = Path("tts/engines/kokoro/assets/NOTICE").read_bytes()
    shards = LocalShards([spec(content, "package:tts.engines.kokoro/assets/NOTICE")])
    assert shards.read("core") == content


def test_wrong_bytes_and_missing_sources_are_named(tmp_path: Path) -> None:
    (tmp_path / "1").write_bytes(b"ab")
    source = f"file:{tmp_path}/1"
    for bad, message in (
        (spec(b"abc", source), "has 2 bytes, the manifest says 3"),
        (spec(b"xy", source), "sha256"),
        (spec(b"ab", f"file:{tmp_path}/none"), "cannot be read"),
        (spec(b"ab", "package:no_such_package/file"), "no_such_package is not installed"),
        (spec(b"ab", "ftp:x"), "begins with one of"),
    ):
        with pytest.raises(VersionUnavailable, match=message):
            LocalShards([bad]).read("core")
    with pytest.raises(VersionUnavailable, match="no shard 'other'; there are: core"):
        LocalShards([spec(b"ab", source)]).read("other")


def test_an_object_is_built_once_however_many_ask() -> None:
    shards = LocalShards([spec(b"ab"), spec(b"ab", name="same")])
    building, go_on = threading.Event(), threading.Event()
    built: list[int] = []
    results: list[object] = []

    def build() -> object:
        built.append(1)
        building.set()
        assert go_on.wait(10)
        return object()

    threads = [
        threading.Thread(target=lambda n=name: results.append(shards.resident(n, "t", build)))
        for name in ("core", "same", "core")
    ]
    for thread in threads:
        thread.start()
    assert building.wait(10)
    go_on.set()
    for thread in threads:
        thread.join(10)
    assert built == [1]
    assert len(set(map(id, results))) == 1
    assert len(results) == 3
    assert shards.resident("core", "other transform", object) is not results[0]


def test_an_object_of_several_shards_is_shared_where_all_are_the_same() -> None:
    shards = LocalShards([spec(b"ab"), spec(b"cd", name="two"), spec(b"ef", name="other")])
    both = shards.resident(("core", "two"), "t", object)
    assert shards.resident(("core", "two"), "t", object) is both
    for names in ("core", ("core",), ("core", "other"), ("two", "core")):
        assert shards.resident(names, "t", object) is not both


def test_a_failed_build_is_tried_again() -> None:
    shards = LocalShards([spec(b"ab")])

    def fail() -> int:
        raise VersionUnavailable("no memory")

    with pytest.raises(VersionUnavailable):
        shards.resident("core", "t", fail)
    assert shards.resident("core", "t", lambda: 7) == 7


def test_an_object_of_the_store_is_mapped_and_verified_once(tmp_path: Path) -> None:
    (tmp_path / "object").write_bytes(b"abc")
    wanted = spec(b"abc", f"store:{hashlib.sha256(b'abc').hexdigest()}")
    located: list[str] = []

    def locate(sha256: str) -> Path:
        located.append(sha256)
        return tmp_path / "object"

    content = LocalShards([wanted], locate).read("core")
    assert bytes(content) == b"abc"
    assert content.readonly
    assert located == [wanted.sha256]
    # The mapping stays where the file is removed.
    (tmp_path / "object").unlink()
    assert bytes(content) == b"abc"


def test_a_damaged_or_missing_object_is_named_with_its_version(tmp_path: Path) -> None:
    path = tmp_path / "object"
    path.write_bytes(b"abc")
    wanted = spec(b"abc", f"store:{hashlib.sha256(b'abc').hexdigest()}")
    LocalShards([wanted], lambda _: path, "kokoro@1").read("core")
    path.write_bytes(b"abd")
    # Another file than the one that was looked at is looked at again.
    os.utime(path, ns=(1, 1))
    with pytest.raises(VersionUnavailable, match="shard 'core' of kokoro@1 has sha256"):
        LocalShards([wanted], lambda _: path, "kokoro@1").read("core")

    def missing(sha256: str) -> Path:
        raise ShardMissing(f"the store has no object {sha256}")

    said = "shard 'core' of kokoro@1 cannot be read: the store has no object"
    with pytest.raises(VersionUnavailable, match=said):
        LocalShards([wanted], missing, "kokoro@1").read("core")
