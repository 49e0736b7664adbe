"""The store in a bucket of S3, or of a server that speaks its protocol, with copies kept here."""

import hashlib
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError
from storages.backends.s3 import S3Storage

from models_registry.errors import (
    ShardDamaged,
    ShardMissing,
    ShardStoreUnavailable,
)
from models_registry.storage.base import Progress, StoredObject, no_progress
from models_registry.storage.folder import BLOCK, Blocks, ObjectFolder

PART: Final = 16 * 1024 * 1024
"""Bytes of a part; a file of one part is sent in one request."""
_MOST_PARTS: Final = 10_000
_GONE: Final = {"404", "NoSuchKey", "NotFound"}
_NO_UPLOAD: Final = {"NoSuchUpload", "InvalidPart"}

Client = Any
"""boto3 makes its clients' classes when they are asked for."""


class S3ShardStore:
    """See ShardStore; `local` is a verified copy in `cache`, fetched once for all processes.

    A large object is sent in parts. The bucket shows it when they are joined, which is asked for
    when the file's sha256 is known to be right. Who finds an upload of the same object that was
    cut off goes on with it: parts are recognised by their MD5.
    """

    def __init__(self, storage: S3Storage, cache: Path, part: int = PART) -> None:
        self._storage = storage
        self._cache = ObjectFolder(cache)
        self._part = part

    def put(self, source: Path, sha256: str, progress: Progress = no_progress) -> bool:
        """See ShardStore."""
        with _explained(sha256):
            size = source.stat().st_size
            if self._is_there(sha256, size):
                progress(size)
                return False
            if size <= self._part:
                self._send_whole(source.read_bytes(), sha256)
                progress(size)
            else:
                self._send_parts(source, sha256, size, progress)
            if not self._is_there(sha256, size):
                raise ShardStoreUnavailable(f"object {sha256} is not there after it was sent")
        return True

    def local(self, sha256: str) -> Path:
        """See ShardStore."""
        path = self._cache.path(sha256)
        if not path.is_file():
            self.size(sha256)
            self._cache.have(sha256, self._remote_blocks(sha256))
        return path

    def size(self, sha256: str) -> int:
        """See ShardStore."""
        with _explained(sha256):
            return int(self._client.head_object(**self._at(sha256))["ContentLength"])

    def verify(self, sha256: str) -> None:
        """See ShardStore; a damaged copy of this machine is removed, so that it is fetched anew."""
        digest = hashlib.sha256()
        for block in self._remote_blocks(sha256)(0):
            digest.update(block)
        if digest.hexdigest() != sha256:
            raise ShardDamaged(
                f"object {sha256} is damaged: its bytes have sha256 {digest.hexdigest()}"
            )
        try:
            self._cache.verify(sha256)
        except ShardMissing:
            return
        except ShardDamaged:
            self._cache.delete(sha256)

    def delete(self, sha256: str) -> None:
        """See ShardStore."""
        with _explained(sha256):
            for upload in self._uploads(self._key(sha256)):
                self._abort(sha256, upload["UploadId"])
            self._client.delete_object(**self._at(sha256))
        self._cache.delete(sha256)

    def objects(self) -> Iterator[StoredObject]:
        """See ShardStore."""
        with _explained("list"):
            pages = self._client.get_paginator("list_objects_v2").paginate(
                Bucket=self._storage.bucket_name, Prefix=self._prefix
            )
            for item in (item for page in pages for item in page.get("Contents", ())):
                name = item["Key"].rpartition("/")[2]
                if item["Key"] == self._key(name):
                    yield StoredObject(name, item["Size"], item["LastModified"])

    def unfinished(self) -> Iterator[StoredObject]:
        """See ShardStore; the size of an upload is not asked for, and is 0."""
        with _explained("list"):
            for upload in self._uploads(self._prefix):
                name = upload["Key"].rpartition("/")[2]
                if upload["Key"] == self._key(name):
                    yield StoredObject(name, 0, upload["Initiated"])

    @property
    def _client(self) -> Client:
        # The library keeps one for each thread.
        return self._storage.connection.meta.client

    @property
    def _prefix(self) -> str:
        location = self._storage.location.strip("/")
        return f"{location}/" if location else ""

    def _key(self, sha256: str) -> str:
        return f"{self._prefix}{sha256[:2]}/{sha256}"

    def _at(self, sha256: str) -> dict[str, str]:
        return {"Bucket": self._storage.bucket_name, "Key": self._key(sha256)}

    def _is_there(self, sha256: str, size: int) -> bool:
        try:
            found = self._client.head_object(**self._at(sha256))
        except ClientError as error:
            if _code(error) in _GONE:
                return False
            raise
        return int(found["ContentLength"]) == size

    def _send_whole(self, content: bytes, sha256: str) -> None:
        digest = hashlib.sha256(content)
        if digest.hexdigest() != sha256:
            raise ShardDamaged(f"the source of object {sha256} has sha256 {digest.hexdigest()}")
        self._client.put_object(
            **self._at(sha256),
            Body=content,
            ChecksumSHA256=b64encode(digest.digest()).decode(),
        )

    def _send_parts(self, source: Path, sha256: str, size: int, progress: Progress) -> None:
        """Send what is not there of an upload, and have it joined once the sha256 is right."""
        key = self._key(sha256)
        begun = next((item for item in self._uploads(key) if item["Key"] == key), None)
        if begun is None:
            begun = self._client.create_multipart_upload(**self._at(sha256))
        upload = {**self._at(sha256), "UploadId": begun["UploadId"]}
        try:
            there = self._parts(upload)
            digest, parts = hashlib.sha256(), list[dict[str, Any]]()
            length = max(self._part, -(-size // _MOST_PARTS))
            with source.open("rb") as stream:
                while block := stream.read(length):
                    digest.update(block)
                    number = len(parts) + 1
                    tag = f'"{hashlib.md5(block, usedforsecurity=False).hexdigest()}"'
                    if there.get(number) != tag:
                        sent = self._client.upload_part(**upload, PartNumber=number, Body=block)
                        tag = sent["ETag"]
                    parts.append({"PartNumber": number, "ETag": tag})
                    progress(len(block))
            if digest.hexdigest() != sha256:
                self._abort(sha256, upload["UploadId"])
                raise ShardDamaged(f"the source of object {sha256} has sha256 {digest.hexdigest()}")
            self._client.complete_multipart_upload(**upload, MultipartUpload={"Parts": parts})
        except ClientError as error:
            # Somebody else who sent the same object was first to have it joined.
            if not self._is_there(sha256, size):
                raise ShardStoreUnavailable(f"S3 refused object {sha256}: {error}") from error

    def _uploads(self, prefix: str) -> Iterator[dict[str, Any]]:
        pages = self._client.get_paginator("list_multipart_uploads").paginate(
            Bucket=self._storage.bucket_name, Prefix=prefix
        )
        for page in pages:
            yield from page.get("Uploads", ())

    def _parts(self, upload: dict[str, str]) -> dict[int, str]:
        pages = self._client.get_paginator("list_parts").paginate(**upload)
        return {
            part["PartNumber"]: part["ETag"] for page in pages for part in page.get("Parts", ())
        }

    def _abort(self, sha256: str, upload: str) -> None:
        try:
            self._client.abort_multipart_upload(**self._at(sha256), UploadId=upload)
        except ClientError as error:
            if _code(error) not in _NO_UPLOAD:
                raise

    def _remote_blocks(self, sha256: str) -> Blocks:
        def blocks(offset: int) -> Iterator[bytes]:
            size = self.size(sha256)
            if offset >= size:
                return
            with _explained(sha256):
                found = self._client.get_object(**self._at(sha256), Range=f"bytes={offset}-")
                yield from found["Body"].iter_chunks(BLOCK)

        return blocks


@contextmanager
def _explained(what: str) -> Iterator[None]:
    """Errors of the client as errors of the store."""
    try:
        yield
    except ClientError as error:
        if _code(error) in _GONE:
            raise ShardMissing(f"the store has no object {what}") from error
        raise ShardStoreUnavailable(f"S3 refused object {what}: {error}") from error
    except (BotoCoreError, OSError) as error:
        raise ShardStoreUnavailable(f"object {what}: {error}") from error


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))
