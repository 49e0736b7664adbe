"""Shards that lie on this machine: read, verified, and the objects built from them shared."""

import base64
import hashlib
import importlib.util
import mmap
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self, TypeVar, cast

from models_registry.errors import RegistryError
from models_registry.manifest import Manifest
from models_registry.shards.source import ShardSource, SourceKind
from tts.engine.errors import VersionUnavailable

T = TypeVar("T")
Locate = Callable[[str], Path]
"""The file with the bytes of a sha256, which nobody writes to; raises RegistryError."""

# A store's files never change, so that one look at them does for all versions of a process. Told
# apart by device, inode, size and time of writing, in case somebody changes one all the same.
_VERIFIED: set[tuple[str | int, ...]] = set()


@dataclass(frozen=True, slots=True)
class ShardSpec:
    """One shard of a manifest: its bytes are those of all `sources`, joined in order.

    `role` is "preprocess", "core" or "postprocess"; `bytes` is their number;
    `sha256` is of the joined bytes, in lower-case hexadecimal.
    """

    name: str
    role: str
    sources: tuple[str, ...]
    bytes: int
    sha256: str
    dtype: str = ""


@dataclass(slots=True)
class _Resident:
    """An object that is being built, or is there; `lock` makes the others wait for it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    built: bool = False
    value: object = None


@dataclass(frozen=True, slots=True)
class _Part:
    """The bytes of one source; `identity` tells a file of the store from what it was before."""

    view: memoryview
    identity: tuple[int, ...] = ()


class LocalShards:
    """`Shards` over all kinds of sources, for one or several versions of one process.

    Every method may be called from any thread. Bytes are verified when they are
    first read and, since their sources could change, by their size afterwards. `locate`
    finds those of the store, and `version` is what errors name.
    """

    def __init__(
        self, specs: Sequence[ShardSpec], locate: Locate | None = None, version: str = ""
    ) -> None:
        self._specs = {spec.name: spec for spec in specs}
        self._locate = locate
        self._of = f" of {version}" if version else ""
        self._verified: set[str] = set()
        self._residents: dict[tuple[tuple[str, ...], str], _Resident] = {}
        self._lock = threading.Lock()

    @classmethod
    def of(cls, manifest: Manifest, locate: Locate | None = None) -> Self:
        """The shards that a registered version's manifest names."""
        return cls(shard_specs(manifest), locate, f"{manifest.engine}@{manifest.version}")

    def read(self, name: str) -> memoryview:
        """The verified bytes of shard `name`, read-only; raises VersionUnavailable.

        A single object of the store is mapped into memory: what nobody touches is not read
        again, and its pages are shared with other processes.
        """
        spec = self._spec(name)
        parts = [self._source_bytes(name, source) for source in spec.sources]
        joined = parts[0] if len(parts) == 1 else _Part(memoryview(b"".join(p.view for p in parts)))
        content = joined.view
        if len(content) != spec.bytes:
            raise VersionUnavailable(
                f"shard {name!r}{self._of} has {len(content)} bytes, the manifest says {spec.bytes}"
            )
        looked_at: tuple[str | int, ...] = (spec.sha256, *joined.identity)
        if name not in self._verified and looked_at not in _VERIFIED:
            found = hashlib.sha256(content).hexdigest()
            if found != spec.sha256:
                raise VersionUnavailable(
                    f"shard {name!r}{self._of} has sha256 {found}, the manifest says {spec.sha256}"
                )
            if joined.identity:
                _VERIFIED.add(looked_at)
        self._verified.add(name)
        return content

    def resident(
        self,
        names: str | tuple[str, ...],
        transform: str,
        build: Callable[[], T],
        measure: Callable[[T], int] | None = None,
    ) -> T:
        """An object built from shards `names`, once: others wait for the first to build it.

        When `build` raises, nothing is kept and the next caller tries again.
        """
        several = (names,) if isinstance(names, str) else names
        key = (tuple(self._spec(name).sha256 for name in several), transform)
        with self._lock:
            entry = self._residents.setdefault(key, _Resident())
        with entry.lock:
            if not entry.built:
                entry.value = build()
                entry.built = True
            # The key names what `build` makes, so that every caller's T is the same.
            return cast(T, entry.value)

    def account(self, name: str, size: int) -> None:
        """Nothing limits memory here."""

    def digest(self, name: str) -> str:
        """The sha256 of a shard, as the manifest says; raises VersionUnavailable."""
        return self._spec(name).sha256

    @property
    def sizes(self) -> dict[str, int]:
        """The bytes of each shard by its sha256."""
        return {spec.sha256: spec.bytes for spec in self._specs.values()}

    def _source_bytes(self, name: str, source: str) -> _Part:
        try:
            parsed = ShardSource.parse(source)
            if parsed.kind is SourceKind.STORE:
                return _mapped(self._located(parsed.location))
            path = source_path(source)
            if path is None:
                return _Part(memoryview(base64.b64decode(parsed.location, validate=True)))
            # Others may write to these files, and one that shrinks ends who has it mapped.
            return _Part(memoryview(path.read_bytes()))
        except RegistryError as error:
            reason = error.message
        except (OSError, ValueError, VersionUnavailable) as error:
            reason = str(error)
        raise VersionUnavailable(f"shard {name!r}{self._of} cannot be read: {reason}")

    def _located(self, sha256: str) -> Path:
        if self._locate is None:
            raise VersionUnavailable("there is no store here")
        return self._locate(sha256)

    def _spec(self, name: str) -> ShardSpec:
        try:
            return self._specs[name]
        except KeyError:
            known = ", ".join(self._specs) or "none"
            raise VersionUnavailable(f"there is no shard {name!r}; there are: {known}") from None


def shard_specs(manifest: Manifest) -> tuple[ShardSpec, ...]:
    """The shards of a registered version, as its manifest has them."""
    return tuple(
        ShardSpec(
            name=shard.name,
            role=shard.role,
            sources=shard.sources,
            bytes=shard.size,
            sha256=shard.sha256,
            dtype=shard.dtype,
        )
        for shard in manifest.shards
    )


def source_path(source: str) -> Path | None:
    """Where a package or file source lies; None for any other. Imports no package.

    Raises VersionUnavailable when its package is not installed.
    """
    parsed = ShardSource.parse(source)
    if parsed.kind in (SourceKind.INLINE, SourceKind.STORE):
        return None
    if parsed.kind is SourceKind.FILE:
        return Path(parsed.location)
    module, _, path = parsed.location.partition("/")
    try:
        spec = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        spec = None
    if spec is None or not spec.submodule_search_locations:
        raise VersionUnavailable(f"package {module} is not installed")
    return Path(next(iter(spec.submodule_search_locations))) / path


def _mapped(path: Path) -> _Part:
    """A file of the store, mapped for as long as somebody has the view; raises OSError."""
    with path.open("rb") as stream:
        status = os.fstat(stream.fileno())
        # An empty file cannot be mapped.
        size = status.st_size
        content = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
    identity = (status.st_dev, status.st_ino, size, status.st_mtime_ns)
    return _Part(memoryview(content), identity)
