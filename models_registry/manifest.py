"""The manifest of a model version: what it is made of, as plain values and as JSON."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Self, TypeVar

from coordination.clipping import clipped
from models_registry.errors import ManifestInvalid
from models_registry.shards.source import ShardSource

JsonObject = dict[str, object]
T = TypeVar("T", str, int, bool)

_SHA256 = re.compile(r"[0-9a-f]{64}")
_ENGINE = re.compile(r"[a-z][a-z0-9_]{0,31}")
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")
_SHARD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,127}")
LANGUAGE_TAG = re.compile(r"[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})*")
SAMPLE_RATES = range(8_000, 192_001)


class ShardRole(StrEnum):
    """When a shard is needed: around the model (kept resident) or in it (by demand)."""

    PREPROCESS = "preprocess"
    CORE = "core"
    POSTPROCESS = "postprocess"


@dataclass(frozen=True, slots=True)
class ManifestShard:
    """One shard: its bytes are those of all `sources`, joined in order.

    `size` is in bytes and is called "bytes" in JSON; `sha256` is of the joined
    bytes, lower-case hexadecimal; `dtype` names the number format ("int8",
    "float16", …; empty where there is none).
    """

    name: str
    role: ShardRole
    sources: tuple[str, ...]
    size: int
    sha256: str
    dtype: str = ""

    def __post_init__(self) -> None:
        where = f"shard {clipped(self.name)}"
        _check(_SHARD.fullmatch(self.name), where, "a name of letters, digits, '.', '_', '-', '/'")
        _check(".." not in self.name.split("/"), where, "a name without '..'")
        _check(self.sources, where, "at least one source")
        for source in self.sources:
            try:
                ShardSource.parse(source)
            except ValueError as error:
                raise ManifestInvalid(f"{where}: {error}") from error
        _check(self.size >= 0, where, f"bytes of at least 0, not {clipped(self.size)}")
        _check(_SHA256.fullmatch(self.sha256), where, "sha256 of 64 lower-case hexadecimal digits")


@dataclass(frozen=True, slots=True)
class Manifest:
    """A version: engine, label, shards, what it speaks, and where it comes from.

    `speakers` are the ids that the model itself contains. `config` is the
    engine's own. `commercial_use` says whether the licence of the weights allows
    it. Every instance is valid: construction raises ManifestInvalid.
    """

    engine: str
    version: str
    shards: tuple[ManifestShard, ...]
    sample_rate: int
    languages: tuple[str, ...]
    speakers: tuple[str, ...] = ()
    config: JsonObject = field(default_factory=dict)
    licence: str = ""
    source: str = ""
    commercial_use: bool = False

    def __post_init__(self) -> None:
        _check(_ENGINE.fullmatch(self.engine), "engine", "lower-case letters, digits and '_'")
        _check(_LABEL.fullmatch(self.version), "version", "letters, digits, '.', '_', '+', '-'")
        _check(
            self.sample_rate in SAMPLE_RATES,
            "sample_rate",
            f"{SAMPLE_RATES.start} to {SAMPLE_RATES.stop - 1} Hz, not {clipped(self.sample_rate)}",
        )
        _check(self.languages, "languages", "at least one language")
        for language in self.languages:
            _check(
                LANGUAGE_TAG.fullmatch(language),
                "languages",
                f"tags like 'en', not {clipped(language)}",
            )
        _unique("shards", [shard.name for shard in self.shards])
        _unique("languages", self.languages)
        _unique("speakers", self.speakers)

    @property
    def size(self) -> int:
        """Bytes of all shards together."""
        return sum(shard.size for shard in self.shards)

    def to_json(self) -> JsonObject:
        """Plain JSON values, in a stable order; `from_json` gives the same manifest back."""
        return {
            "engine": self.engine,
            "version": self.version,
            "sample_rate": self.sample_rate,
            "languages": list(self.languages),
            "speakers": list(self.speakers),
            "licence": self.licence,
            "source": self.source,
            "commercial_use": self.commercial_use,
            "config": dict(self.config),
            "shards": [
                {
                    "name": shard.name,
                    "role": str(shard.role),
                    "sources": list(shard.sources),
                    "bytes": shard.size,
                    "sha256": shard.sha256,
                    "dtype": shard.dtype,
                }
                for shard in self.shards
            ],
        }

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Read what `to_json` wrote; raises ManifestInvalid naming the place."""
        data = _object(value, "manifest", _FIELDS)
        return cls(
            engine=_get(data, "engine", str),
            version=_get(data, "version", str),
            shards=tuple(
                _shard(item, f"shards[{index}]")
                for index, item in enumerate(_list(data.get("shards", []), "shards"))
            ),
            sample_rate=_get(data, "sample_rate", int),
            languages=_strings(data.get("languages", []), "languages"),
            speakers=_strings(data.get("speakers", []), "speakers"),
            config=dict(_object(data.get("config", {}), "config")),
            licence=_get(data, "licence", str, ""),
            source=_get(data, "source", str, ""),
            commercial_use=_get(data, "commercial_use", bool, False),
        )


_FIELDS = frozenset(item.name for item in fields(Manifest))
_SHARD_FIELDS = frozenset({"name", "role", "sources", "bytes", "sha256", "dtype"})


def _shard(value: object, where: str) -> ManifestShard:
    data = _object(value, where, _SHARD_FIELDS)
    role = _get(data, "role", str, where=where)
    if role not in list(ShardRole):
        raise ManifestInvalid(
            f"{where}.role: expected one of {', '.join(ShardRole)}, not {clipped(role)}"
        )
    return ManifestShard(
        name=_get(data, "name", str, where=where),
        role=ShardRole(role),
        sources=_strings(data.get("sources", []), f"{where}.sources"),
        size=_get(data, "bytes", int, where=where),
        sha256=_get(data, "sha256", str, where=where),
        dtype=_get(data, "dtype", str, "", where=where),
    )


def _check(good: object, where: str, expected: str) -> None:
    if not good:
        raise ManifestInvalid(f"{where}: expected {expected}")


def _unique(where: str, names: Sequence[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    _check(not twice, where, f"each name once, but {', '.join(twice)} is there twice")


def _object(value: object, where: str, known: frozenset[str] | None = None) -> Mapping[str, object]:
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise ManifestInvalid(f"{where}: expected an object, not {type(value).__name__}")
    unknown = sorted(set(value) - known) if known is not None else []
    if known is not None and unknown:
        raise ManifestInvalid(
            f"{where}: unknown field {clipped(unknown[0])}; known are {', '.join(sorted(known))}"
        )
    return value


def _list(value: object, where: str) -> list[object]:
    if not isinstance(value, list):
        raise ManifestInvalid(f"{where}: expected a list, not {type(value).__name__}")
    return value


def _strings(value: object, where: str) -> tuple[str, ...]:
    items = _list(value, where)
    strings = tuple(item for item in items if isinstance(item, str))
    if len(strings) != len(items):
        raise ManifestInvalid(f"{where}: expected a list of strings")
    return strings


def _get(
    data: Mapping[str, object], name: str, kind: type[T], default: T | None = None, where: str = ""
) -> T:
    place = f"{where}.{name}" if where else name
    value = data.get(name, default)
    if value is None:
        raise ManifestInvalid(f"{place}: is missing")
    # bool is an int to Python, but not to the reader of a manifest.
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ManifestInvalid(
            f"{place}: expected {kind.__name__}, not {type(value).__name__} {clipped(value)}"
        )
    return value
