"""The store in a folder, of one machine or shared by several."""

from collections.abc import Iterator
from pathlib import Path

from models_registry.storage.base import Progress, StoredObject, no_progress
from models_registry.storage.folder import ObjectFolder, file_blocks


class FileShardStore:
    """See ShardStore; `local` is the object itself."""

    def __init__(self, root: Path) -> None:
        self._folder = ObjectFolder(root)

    def put(self, source: Path, sha256: str, progress: Progress = no_progress) -> bool:
        """See ShardStore."""
        return self._folder.have(sha256, file_blocks(source), progress)

    def local(self, sha256: str) -> Path:
        """See ShardStore."""
        self._folder.size(sha256)
        return self._folder.path(sha256)

    def size(self, sha256: str) -> int:
        """See ShardStore."""
        return self._folder.size(sha256)

    def verify(self, sha256: str) -> None:
        """See ShardStore."""
        self._folder.verify(sha256)

    def delete(self, sha256: str) -> None:
        """See ShardStore."""
        self._folder.delete(sha256)

    def objects(self) -> Iterator[StoredObject]:
        """See ShardStore."""
        return self._folder.objects()

    def unfinished(self) -> Iterator[StoredObject]:
        """See ShardStore."""
        return self._folder.unfinished()
