"""A version's shards for one engine, within the memory that a worker has for all of them."""

from collections.abc import Callable
from typing import TypeVar

from models_registry.errors import ShardMemoryExceeded
from models_registry.shards.manager import ShardManager
from models_registry.shards.resident import ResidentKey
from tts.engine.errors import VersionUnavailable
from tts.engines.base import ShardBytes
from tts.engines.shards import LocalShards

T = TypeVar("T")


class ManagedShards:
    """`Shards`: bytes from `files`, what is built from them in the manager, held by `holder`."""

    def __init__(self, files: LocalShards, manager: ShardManager, holder: str) -> None:
        self._files = files
        self._manager = manager
        self._holder = holder

    def read(self, name: str) -> ShardBytes:
        """The verified bytes of shard `name`; raises VersionUnavailable."""
        return self._files.read(name)

    def resident(
        self,
        names: str | tuple[str, ...],
        transform: str,
        build: Callable[[], T],
        measure: Callable[[T], int] | None = None,
    ) -> T:
        """An object built from shards `names`, once for all versions that have them."""
        several = (names,) if isinstance(names, str) else names
        digests = tuple(self._files.digest(name) for name in several)
        sizes = self._files.sizes
        try:
            return self._manager.resident(
                self._holder,
                ResidentKey(digests, transform),
                build,
                expected=sum(sizes[digest] for digest in digests),
                measure=measure,
            )
        except ShardMemoryExceeded as error:
            raise MemoryShort(error.message, retry_after=error.retry_after) from error

    def account(self, name: str, size: int) -> None:
        """Count bytes that this engine takes alone, until it is closed."""
        try:
            self._manager.account(self._holder, name, size)
        except ShardMemoryExceeded as error:
            raise MemoryShort(error.message, retry_after=error.retry_after) from error


class MemoryShort(VersionUnavailable):
    """There is no room for an engine's shards now; nothing is wrong with them."""
