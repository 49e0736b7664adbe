"""Bringing the bytes of a version into the store of shards."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from models_registry.manifest import Manifest, ManifestShard
from models_registry.shards.source import ShardSource, SourceKind
from models_registry.storage import shard_store

Progress = Callable[[int, int], None]
"""Told how many bytes more are stored, and of how many in all."""


def no_progress(count: int, total: int) -> None:
    """Tell nobody."""


def manifest_stored(manifest: Manifest, progress: Progress = no_progress) -> Manifest:
    """The manifest with every shard that is one file of this machine in the store.

    Those of installed packages stay where they are. Goes on where an earlier call was cut off.
    Raises ShardStoreError.
    """
    files = {shard.name: path for shard in manifest.shards if (path := _file(shard)) is not None}
    total = sum(shard.size for shard in manifest.shards if shard.name in files)
    store = shard_store()
    shards = []
    for shard in manifest.shards:
        if shard.name in files:
            store.put(files[shard.name], shard.sha256, lambda count: progress(count, total))
            shard = replace(shard, sources=(f"{SourceKind.STORE}:{shard.sha256}",))
        shards.append(shard)
    return replace(manifest, shards=tuple(shards))


def _file(shard: ManifestShard) -> Path | None:
    if len(shard.sources) != 1:
        return None
    source = ShardSource.parse(shard.sources[0])
    return Path(source.location) if source.kind is SourceKind.FILE else None
