"""The store that the settings name (`STORAGES["shards"]`)."""

from pathlib import Path

from django.conf import settings
from django.core.files.storage import FileSystemStorage, storages

from models_registry.storage.base import ShardStore
from models_registry.storage.filesystem import FileShardStore

ALIAS = "shards"


def shard_store() -> ShardStore:
    """This installation's store."""
    storage = storages[ALIAS]
    if isinstance(storage, FileSystemStorage):
        return FileShardStore(Path(storage.location))
    # Imported here: the client of S3 is large, and most installations have no use for it.
    from storages.backends.s3 import S3Storage

    from models_registry.storage.s3 import S3ShardStore

    if not isinstance(storage, S3Storage):
        raise TypeError(f"STORAGES[{ALIAS!r}] must be a file system or S3, not {type(storage)}")
    return S3ShardStore(storage, Path(settings.SHARD_CACHE_DIR))
