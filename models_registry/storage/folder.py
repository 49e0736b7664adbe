"""A folder of files named by their sha256: each appears whole and verified, or not at all."""

import errno
import fcntl
import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path

from models_registry.errors import (
    ShardDamaged,
    ShardMissing,
    ShardStoreError,
    ShardStoreFull,
    ShardStoreUnavailable,
)
from models_registry.storage.base import Progress, StoredObject, no_progress

Blocks = Callable[[int], Iterable[bytes]]
"""The bytes from an offset on, in blocks."""

BLOCK = 1 << 20
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_DIGEST = re.compile(r"[0-9a-f]{64}")
_PARTIAL = "partial"
_MODE = 0o444


class ObjectFolder:
    """Files `root`/AB/ABCD… of processes that share `root`.

    Who writes one holds a lock on its partial file, so that others wait and find it there. The
    lock goes with its process; the partial file stays, and the next one goes on with it.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def path(self, sha256: str) -> Path:
        """Where the object lies, or would."""
        if not _DIGEST.fullmatch(sha256):
            raise ShardMissing(f"{sha256[:80]!r} is no sha256, 64 lower-case hexadecimal digits")
        return self._root / sha256[:2] / sha256

    def size(self, sha256: str) -> int:
        """Bytes; raises ShardMissing."""
        with _explained(sha256):
            try:
                return self.path(sha256).stat().st_size
            except FileNotFoundError:
                raise ShardMissing(f"the store has no object {sha256}") from None

    def verify(self, sha256: str) -> None:
        """Read all of it; raises ShardMissing, ShardDamaged."""
        self.size(sha256)
        with _explained(sha256):
            found = _digest_of(self.path(sha256))
        if found != sha256:
            raise ShardDamaged(f"object {sha256} is damaged: its bytes have sha256 {found}")

    def have(self, sha256: str, blocks: Blocks, progress: Progress = no_progress) -> bool:
        """Have the object, from `blocks` where need be; False where it was there.

        One that is there and damaged is replaced. Raises ShardDamaged when the blocks make up
        something else, ShardStoreFull, ShardStoreUnavailable.
        """
        target = self.path(sha256)
        with _explained(sha256), self._locked(sha256) as partial:
            if target.is_file() and _digest_of(target) == sha256:
                self._partial(sha256).unlink()
                progress(target.stat().st_size)
                return False
            try:
                self._fill(partial, sha256, blocks, progress)
            except ShardDamaged:
                self._partial(sha256).unlink()
                raise
            except OSError as error:
                if error.errno in _FULL:
                    self._partial(sha256).unlink()
                raise
            target.parent.mkdir(parents=True, exist_ok=True)
            os.fchmod(partial.fileno(), _MODE)
            self._partial(sha256).replace(target)
            for folder in (target.parent, self._root):
                _sync_folder(folder)
        return True

    def delete(self, sha256: str) -> None:
        """Remove the object and what is begun of it, once nobody writes it."""
        with _explained(sha256), self._locked(sha256):
            self.path(sha256).unlink(missing_ok=True)
            self._partial(sha256).unlink()

    def objects(self) -> Iterator[StoredObject]:
        """All that are whole."""
        return self._listed("??")

    def unfinished(self) -> Iterator[StoredObject]:
        """All that are begun."""
        return self._listed(_PARTIAL)

    def _partial(self, sha256: str) -> Path:
        return self._root / _PARTIAL / sha256

    def _listed(self, folders: str) -> Iterator[StoredObject]:
        for path in self._root.glob(f"{folders}/*"):
            if _DIGEST.fullmatch(path.name):
                try:
                    status = path.stat()
                except FileNotFoundError:
                    continue
                since = datetime.fromtimestamp(status.st_mtime, UTC)
                yield StoredObject(path.name, status.st_size, since)

    def _fill(self, partial: FileIO, sha256: str, blocks: Blocks, progress: Progress) -> None:
        """Complete the partial file; what it has already is part of what is verified."""
        found, size = _extended(partial, blocks, progress)
        if found != sha256 and size:
            # What was there may be of another file, or torn by a power failure.
            progress(-partial.tell())
            partial.truncate(0)
            found, _ = _extended(partial, blocks, progress)
        if found != sha256:
            raise ShardDamaged(f"the source of object {sha256} has sha256 {found}")

    @contextmanager
    def _locked(self, sha256: str) -> Iterator[FileIO]:
        """The partial file, open and this process' own; waits for others."""
        path = self._partial(sha256)
        path.parent.mkdir(parents=True, exist_ok=True)
        while True:
            with FileIO(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+") as partial:
                fcntl.flock(partial, fcntl.LOCK_EX)
                # Who held the lock before has renamed or removed the file that was opened.
                if _is_at(partial, path):
                    yield partial
                    return


def file_blocks(path: Path) -> Blocks:
    """The blocks of a file; reading them raises OSError."""

    def blocks(offset: int) -> Iterator[bytes]:
        with path.open("rb", buffering=0) as stream:
            stream.seek(offset)
            while block := stream.read(BLOCK):
                yield block

    return blocks


def _extended(partial: FileIO, blocks: Blocks, progress: Progress) -> tuple[str, int]:
    """Append what is missing and have it on disk; the sha256 of all, and how much was there."""
    digest = hashlib.sha256()
    partial.seek(0)
    while block := partial.read(BLOCK):
        digest.update(block)
        progress(len(block))
    begun = partial.tell()
    for block in blocks(begun):
        _write(partial, block)
        digest.update(block)
        progress(len(block))
    os.fsync(partial.fileno())
    return digest.hexdigest(), begun


def _write(stream: FileIO, block: bytes) -> None:
    rest = memoryview(block)
    while rest:
        rest = rest[stream.write(rest) :]


def _digest_of(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _is_at(stream: FileIO, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(stream.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _explained(sha256: str) -> Iterator[None]:
    """Errors of the operating system as errors of the store."""
    try:
        yield
    except ShardStoreError:
        raise
    except OSError as error:
        if error.errno in _FULL:
            raise ShardStoreFull(
                f"object {sha256} does not fit into the store: {error.strerror};"
                " nothing is left of it"
            ) from error
        raise ShardStoreUnavailable(f"object {sha256}: {error}") from error
