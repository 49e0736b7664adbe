"""Where shards are stored, as the environment has it and as Django's STORAGES want it."""

import re
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

STORE_FORMS = "like s3://BUCKET/PREFIX, or an absolute path"
ENDPOINT_FORMS = "like https://HOST:PORT"
_S3 = re.compile(
    r"s3://(?P<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:/(?P<prefix>[\w!.*'()/-]*))?"
)


class ShardStorage(Protocol):
    """The environment's part of it."""

    @property
    def shard_store(self) -> str: ...

    @property
    def shard_store_endpoint(self) -> str: ...

    @property
    def shard_store_region(self) -> str: ...


def shard_store_check(place: str) -> None:
    """Raise ValueError where it is neither a bucket nor an absolute path."""
    if not _S3.fullmatch(place) and not Path(place).is_absolute():
        raise ValueError("it names no store")


def endpoint_check(url: str) -> None:
    """Raise ValueError where it is no address of a server."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        raise ValueError("it names no server")
    if parts.port == 0 or parts.query or parts.fragment:
        raise ValueError("it is more, or less, than a server")


def shard_storage_config(environment: ShardStorage) -> dict[str, Any]:
    """An entry of STORAGES. Keys of S3 come in its client's own way, as AWS_ACCESS_KEY_ID…"""
    match = _S3.fullmatch(environment.shard_store)
    if match is None:
        return {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {"location": environment.shard_store},
        }
    options: dict[str, Any] = {
        "bucket_name": match["bucket"],
        "location": (match["prefix"] or "").strip("/"),
    }
    if environment.shard_store_endpoint:
        # Servers of one's own rarely have a name for each bucket.
        options |= {"endpoint_url": environment.shard_store_endpoint, "addressing_style": "path"}
    if environment.shard_store_region:
        options["region_name"] = environment.shard_store_region
    return {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": options}
