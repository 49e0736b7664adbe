"""Shards that lie on this machine: read, verified, and the objects built from them shared."""

import base64
import hashlib
import importlib.util
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self, TypeVar, cast

from models_registry.manifest import Manifest
from models_registry.shards.source import ShardSource, SourceKind
from tts.engine.errors import VersionUnavailable

T = TypeVar("T")


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


class LocalShards:
    """`Shards` over package and file sources, for one or several versions of one process.

    Every method may be called from any thread. Bytes are verified when they are
    first read and, since their sources could change, by their size afterwards.
    """

    def __init__(self, specs: Sequence[ShardSpec]) -> None:
        self._specs = {spec.name: spec for spec in specs}
        self._verified: set[str] = set()
        self._residents: dict[tuple[tuple[str, ...], str], _Resident] = {}
        self._lock = threading.Lock()

    @classmethod
    def of(cls, manifest: Manifest) -> Self:
        """The shards that a registered version's manifest names."""
        return cls(shard_specs(manifest))

    def read(self, name: str) -> bytes:
        """The verified bytes of shard `name`; raises VersionUnavailable."""
        spec = self._spec(name)
        parts = [_source_bytes(name, source) for source in spec.sources]
        content = parts[0] if len(parts) == 1 else b"".join(parts)
        if len(content) != spec.bytes:
            raise VersionUnavailable(
                f"shard {name!r} has {len(content)} bytes, the manifest says {spec.bytes}"
            )
        if name not in self._verified:
            found = hashlib.sha256(content).hexdigest()
            if found != spec.sha256:
                raise VersionUnavailable(
                    f"shard {name!r} has sha256 {found}, the manifest says {spec.sha256}"
                )
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
    """Where a package or file source lies; None for what is not a file. Imports no package.

    Raises VersionUnavailable when its package is not installed.
    """
    parsed = ShardSource.parse(source)
    if parsed.kind is SourceKind.INLINE:
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


def _source_bytes(name: str, source: str) -> bytes:
    try:
        path = source_path(source)
        if path is None:
            return base64.b64decode(ShardSource.parse(source).location, validate=True)
        return path.read_bytes()
    except (OSError, ValueError, VersionUnavailable) as error:
        raise VersionUnavailable(f"shard {name!r} cannot be read: {error}") from error
