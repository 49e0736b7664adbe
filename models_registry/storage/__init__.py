"""The content-addressed store of shards: objects named by the sha256 of their bytes."""

from models_registry.storage.base import ShardStore, StoredObject
from models_registry.storage.configured import shard_store

__all__ = ["ShardStore", "StoredObject", "shard_store"]
