"""Stores to test: a folder, and a bucket of a server on this machine."""

import hashlib
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from models_registry.storage.base import ShardStore
from models_registry.storage.filesystem import FileShardStore
from models_registry.storage.s3 import S3ShardStore

PART = 5 * 1024 * 1024
"""S3 takes no smaller parts, but for the last one."""


class BucketStore(Protocol):
    """A store in a bucket; `client` looks at it from outside."""

    store: S3ShardStore
    client: Any
    bucket: str


def digest(content: bytes) -> str:
    """The name of an object."""
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def folder_store(tmp_path: Path) -> FileShardStore:
    """A store in a folder that does not exist yet."""
    return FileShardStore(tmp_path / "store")


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    """The address of an S3 server on the loopback interface."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(s3_server: str) -> Any:
    """A storage with a bucket of its own."""
    from storages.backends.s3 import S3Storage

    name = f"shards-{uuid.uuid4().hex}"
    storage = S3Storage(
        bucket_name=name,
        location="speech",
        endpoint_url=s3_server,
        addressing_style="path",
        access_key="any",
        secret_key="any",
        region_name="us-east-1",
    )
    storage.connection.create_bucket(Bucket=name)
    yield storage
    storage.connection.meta.client.close()


@pytest.fixture
def bucket_store(bucket: Any, tmp_path: Path) -> S3ShardStore:
    """A store in a bucket, which sends parts of 5 MiB."""
    return S3ShardStore(bucket, tmp_path / "cache", PART)


@pytest.fixture(params=["folder", "bucket"])
def store(request: pytest.FixtureRequest) -> ShardStore:
    """One of each."""
    found: ShardStore = request.getfixturevalue(f"{request.param}_store")
    return found
