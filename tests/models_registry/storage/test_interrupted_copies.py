"""A copy that was cut off anywhere is gone on with, and never taken for whole."""

import errno
import hashlib
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from models_registry.errors import ShardDamaged, ShardMissing, ShardStoreFull
from models_registry.storage import folder as folder_module
from models_registry.storage.filesystem import FileShardStore
from models_registry.storage.folder import ObjectFolder
from models_registry.storage.s3 import S3ShardStore

PART = 5 * 1024 * 1024


class Killed(BaseException):
    """Stands for the end of the process."""


def sha256_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    content=st.binary(min_size=1, max_size=300),
    cuts=st.lists(st.integers(0, 300), max_size=4),
    torn=st.binary(max_size=20),
)
def test_any_cuts_end_in_the_same_object(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, cuts: list[int], torn: bytes
) -> None:
    root = tmp_path_factory.mktemp("store")
    store, sha256, read = ObjectFolder(root), sha256_of(content), list[int]()

    def blocks(offset: int) -> Any:
        for place in range(offset, len(content), 7):
            if cut is not None and place >= cut:
                raise Killed
            read.append(place)
            yield content[place : place + 7]

    cut: int | None
    for cut in (*sorted(cuts), None):  # noqa: B007  # blocks reads it
        try:
            store.have(sha256, blocks)
        except Killed:
            with pytest.raises(ShardMissing):
                store.size(sha256)
    assert store.path(sha256).read_bytes() == content
    # What was copied once is not copied again.
    assert len(set(read)) == len(read)
    # A beginning that is of something else does no harm.
    store.delete(sha256)
    (root / "partial" / sha256).write_bytes(torn)
    cut = None
    store.have(sha256, blocks)
    assert store.path(sha256).read_bytes() == content
    assert not list(store.unfinished())


def test_a_full_disk_leaves_nothing(
    folder_store: FileShardStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "source"
    source.write_bytes(bytes(3 * 1024 * 1024))
    whole = folder_module._write
    written = list[int]()

    def full(stream: Any, block: bytes) -> None:
        written.append(len(block))
        if len(written) > 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        whole(stream, block)

    monkeypatch.setattr(folder_module, "_write", full)
    sha256 = sha256_of(bytes(3 * 1024 * 1024))
    with pytest.raises(ShardStoreFull, match="No space left on device; nothing is left of it"):
        folder_store.put(source, sha256)
    assert not [path for path in (tmp_path / "store").rglob("*") if path.is_file()]


def test_a_damaged_object_is_found_and_put_anew(
    folder_store: FileShardStore, tmp_path: Path
) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"sound")
    sha256 = sha256_of(b"sound")
    folder_store.put(source, sha256)
    path = folder_store.local(sha256)
    path.chmod(0o600)
    path.write_bytes(b"sOund")
    with pytest.raises(ShardDamaged, match=f"object {sha256} is damaged"):
        folder_store.verify(sha256)
    assert folder_store.put(source, sha256)
    folder_store.verify(sha256)


def test_parts_that_were_sent_are_not_sent_again(
    bucket_store: S3ShardStore, bucket: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "source"
    content = b"".join(bytes([number]) * PART for number in range(3))
    source.write_bytes(content)
    sha256, client, sent = sha256_of(content), bucket.connection.meta.client, list[int]()
    upload = client.upload_part

    def part(*, PartNumber: int, **options: Any) -> Any:
        if PartNumber == 3 and len(sent) == 2:
            raise Killed
        sent.append(PartNumber)
        return upload(PartNumber=PartNumber, **options)

    monkeypatch.setattr(client, "upload_part", part)
    with pytest.raises(Killed):
        bucket_store.put(source, sha256)
    assert not list(bucket_store.objects())
    assert [item.sha256 for item in bucket_store.unfinished()] == [sha256]
    sent.append(0)
    assert bucket_store.put(source, sha256)
    assert sent == [1, 2, 0, 3]
    assert bucket_store.local(sha256).read_bytes() == content
    assert not list(bucket_store.unfinished())


def test_a_download_goes_on_and_a_damaged_copy_is_fetched_anew(
    bucket_store: S3ShardStore, tmp_path: Path
) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"0123456789")
    sha256 = sha256_of(b"0123456789")
    bucket_store.put(source, sha256)
    partial = tmp_path / "cache" / "partial" / sha256
    partial.parent.mkdir(parents=True)
    partial.write_bytes(b"01234")
    path = bucket_store.local(sha256)
    assert path.read_bytes() == b"0123456789"
    path.chmod(0o600)
    path.write_bytes(b"x123456789")
    bucket_store.verify(sha256)
    assert not path.exists()
    assert bucket_store.local(sha256).read_bytes() == b"0123456789"
