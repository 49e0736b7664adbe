"""A checkpoint from the Hugging Face hub: downloaded, resumed, and verified file by file."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

from tts.engine.errors import VersionUnavailable
from tts.engines.chattts import layout
from tts.engines.chattts.checkpoint import files_needed
from tts.engines.chattts.manifest import RELEASE_HASHES

_NAME = re.compile(r"(?P<owner>[\w-][\w.-]*)/(?P<name>[\w-][\w.-]*)(?:@(?P<revision>[\w./-]+))?")
_FOLDER = "asset/"
_WANTED = frozenset({*files_needed(), *RELEASE_HASHES, layout.SPEAKER})
_BLOCK = 1 << 20


class _Lfs(Protocol):
    sha256: str


class RemoteFile(Protocol):
    """What the hub says of a file; `blob_id` is git's hash, `lfs` is there for large files."""

    @property
    def rfilename(self) -> str:
        """The path in the repository."""

    @property
    def blob_id(self) -> str | None:
        """SHA-1 as git computes it."""

    @property
    def lfs(self) -> _Lfs | None:
        """SHA-256 of a large file."""


@dataclass(frozen=True, slots=True)
class HubId:
    """A repository of the hub, and a branch, tag or commit of it (None: its main branch)."""

    repository: str
    revision: str | None = None

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Read `owner/name[@revision]`; None for what is not written so."""
        match = _NAME.fullmatch(text)
        return cls(f"{match['owner']}/{match['name']}", match["revision"]) if match else None

    def __str__(self) -> str:
        return f"{self.repository}@{self.revision}" if self.revision else self.repository


def hub_download(hub: HubId, folder: Path, *, use_decoder: bool = True) -> Path:
    """Have the checkpoint in a folder of its own below `folder`, which is returned.

    Without `use_decoder` the Decoder may be missing there, and is not downloaded.
    Shows its progress on standard error and goes on where an earlier call was cut off. Every file
    is compared with the hash that the hub has of it. Raises VersionUnavailable saying what is
    missing, or why the hub does not answer.
    """
    # Imported here: only a download needs it, and it takes half a second.
    try:
        from huggingface_hub import HfApi, snapshot_download
    except ImportError as error:
        raise VersionUnavailable(
            f"{hub}: downloading needs huggingface_hub, which is not installed; "
            "give the path of a downloaded checkpoint instead"
        ) from error
    try:
        info = HfApi().model_info(hub.repository, revision=hub.revision, files_metadata=True)
        files = _wanted(hub, info.siblings or (), use_decoder=use_decoder)
        # A commit, so that a branch that moves meanwhile is not mixed into one folder.
        target = folder / hub.repository.replace("/", "--") / str(info.sha)
        snapshot_download(
            hub.repository,
            revision=info.sha,
            local_dir=target,
            allow_patterns=[file.rfilename for file in files],
        )
    except VersionUnavailable:
        raise
    except Exception as error:
        # The client raises its own, its HTTP library's and the operating system's errors.
        raise VersionUnavailable(
            f"{hub} could not be downloaded: {_reason(error)}; run it again to go on, or give the "
            "path of a downloaded checkpoint"
        ) from error
    for file in files:
        _verify(hub, target / file.rfilename, file)
    return target


def _wanted(hub: HubId, files: Iterable[RemoteFile], *, use_decoder: bool) -> list[RemoteFile]:
    there = {file.rfilename: file for file in files}
    needed = files_needed(use_decoder=use_decoder)
    missing = [_FOLDER + name for name in needed if _FOLDER + name not in there]
    if missing:
        raise VersionUnavailable(f"{hub} has no {', '.join(missing)}")
    wanted = _WANTED if use_decoder else _WANTED - {layout.DECODER}
    return [file for name, file in there.items() if name.removeprefix(_FOLDER) in wanted]


def _verify(hub: HubId, path: Path, file: RemoteFile) -> None:
    """Compare a file with the hub's hash; a wrong one is removed, so that it comes anew."""
    expected = file.lfs.sha256 if file.lfs is not None else file.blob_id or ""
    try:
        found = _hash(path, file)
    except OSError as error:
        # The client returns a folder without some files where the hub went away meanwhile.
        raise VersionUnavailable(
            f"{hub}: {file.rfilename} did not come, or cannot be read ({error.strerror}: {path});"
            " run it again"
        ) from error
    if found != expected:
        path.unlink()
        raise VersionUnavailable(
            f"{hub}: {file.rfilename} was damaged on its way (hash {found}, the hub has {expected})"
            " and is removed; run it again"
        )


def _hash(path: Path, file: RemoteFile) -> str:
    """The hash of what is here, of the kind that the hub has of `file`; raises OSError."""
    if file.lfs is not None:
        digest = hashlib.sha256()
    else:
        # Small files have git's hash only: of a header with the size, then the content.
        digest = hashlib.sha1(usedforsecurity=False)
        digest.update(f"blob {path.stat().st_size}\0".encode())
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _reason(error: Exception) -> str:
    """The first line of an error, which may have a whole page."""
    return str(error).strip().partition("\n")[0][:300] or type(error).__name__
