"""What every store of shards does, wherever its objects lie."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

Progress = Callable[[int], None]
"""Told how many bytes more are there: copied, or found."""


def no_progress(count: int) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object, or the beginning of one: `size` in bytes, `since` when it was last written."""

    sha256: str
    size: int
    since: datetime


class ShardStore(Protocol):
    """Objects by their sha256 (lower-case hexadecimal): whole and verified, or not there.

    Every method may be called from any thread and process at the same time. Raises
    ShardStoreUnavailable where the store does not answer.
    """

    def put(self, source: Path, sha256: str, progress: Progress = no_progress) -> bool:
        """Have the bytes of `source`; False where they were there already.

        Goes on where an earlier call was cut off. Raises ShardDamaged where the file's sha256
        is another, ShardStoreFull where there is no room; nothing is left then.
        """

    def local(self, sha256: str) -> Path:
        """A file of this machine with the object's bytes, not to be written to.

        Raises ShardMissing; where it has to be fetched, also ShardDamaged and ShardStoreFull.
        """

    def size(self, sha256: str) -> int:
        """Bytes of the object; raises ShardMissing."""

    def verify(self, sha256: str) -> None:
        """Read all of the object; raises ShardMissing, ShardDamaged."""

    def delete(self, sha256: str) -> None:
        """Remove the object, what is begun of it, and its local copy; it need not be there."""

    def objects(self) -> Iterator[StoredObject]:
        """All objects, in no order."""

    def unfinished(self) -> Iterator[StoredObject]:
        """What was begun and is not whole; somebody may be at it now."""
