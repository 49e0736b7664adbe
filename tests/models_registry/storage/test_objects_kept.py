"""An object appears whole and verified under its sha256, once, and can be looked at and removed."""

import hashlib
import threading
from pathlib import Path

import pytest

from models_registry.errors import RegistryError, ShardDamaged, ShardMissing
from models_registry.storage.base import ShardStore

CONTENT = bytes(range(256)) * 4096 * 6
"""6 MiB: two parts for S3."""


def sha256_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source"
    path.write_bytes(CONTENT)
    return path


@pytest.mark.parametrize("size", [0, 1, len(CONTENT)])
def test_an_object_is_kept(store: ShardStore, source: Path, size: int) -> None:
    source.write_bytes(CONTENT[:size])
    sha256, told = sha256_of(CONTENT[:size]), list[int]()
    assert store.put(source, sha256, told.append)
    source.unlink()
    assert sum(told) == store.size(sha256) == size
    assert store.local(sha256).read_bytes() == CONTENT[:size]
    store.verify(sha256)
    assert [(item.sha256, item.size) for item in store.objects()] == [(sha256, size)]
    assert not list(store.unfinished())


def test_equal_bytes_are_kept_once(store: ShardStore, source: Path) -> None:
    sha256, told = sha256_of(CONTENT), list[int]()
    assert store.put(source, sha256)
    assert not store.put(source, sha256, told.append)
    assert sum(told) == len(CONTENT)
    assert len(list(store.objects())) == 1


@pytest.mark.parametrize("size", [3, len(CONTENT)])
def test_other_bytes_than_promised_leave_nothing(
    store: ShardStore, source: Path, size: int
) -> None:
    source.write_bytes(CONTENT[:size])
    promised = sha256_of(b"other")
    with pytest.raises(ShardDamaged, match=f"source of object {promised} has sha256"):
        store.put(source, promised)
    assert not list(store.objects())
    assert not list(store.unfinished())
    with pytest.raises(ShardMissing):
        store.local(promised)


def test_what_is_not_there_is_named(store: ShardStore) -> None:
    sha256 = sha256_of(b"nothing")
    for ask in (store.local, store.size, store.verify):
        with pytest.raises(ShardMissing, match=sha256):
            ask(sha256)
    with pytest.raises(ShardMissing, match="is no sha256"):
        store.local("../../etc/passwd")


def test_a_removed_object_can_come_again(store: ShardStore, source: Path) -> None:
    sha256 = sha256_of(CONTENT)
    store.put(source, sha256)
    store.local(sha256)
    store.delete(sha256)
    store.delete(sha256)
    with pytest.raises(ShardMissing):
        store.local(sha256)
    assert store.put(source, sha256)
    assert store.local(sha256).read_bytes() == CONTENT


def test_many_put_the_same_at_once(store: ShardStore, source: Path) -> None:
    sha256, errors, start = sha256_of(CONTENT), list[Exception](), threading.Barrier(6)

    def put() -> None:
        start.wait()
        try:
            store.put(source, sha256)
        except RegistryError as error:
            errors.append(error)

    threads = [threading.Thread(target=put) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not errors
    store.verify(sha256)
    assert len(list(store.objects())) == 1
