"""Where the bytes of a shard come from, as written in a manifest.

Four kinds: `package:MODULE/PATH` (a file inside an installed package),
`file:/ABSOLUTE/PATH`, `inline:BASE64` (small configurations only), and
`store:SHA256` (an object of the content-addressed store).
"""

import base64
import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Self

INLINE_LIMIT = 64 * 1024
_SHA256 = re.compile(r"[0-9a-f]{64}")
_MODULE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")


class SourceKind(StrEnum):
    """How the bytes are reached."""

    PACKAGE = "package"
    FILE = "file"
    INLINE = "inline"
    STORE = "store"


@dataclass(frozen=True, slots=True)
class ShardSource:
    """One source: `location` is "module/path", an absolute path, base64, or a sha256."""

    kind: SourceKind
    location: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read "KIND:LOCATION"; raises ValueError saying what is allowed."""
        prefix, separator, location = text.partition(":")
        try:
            kind = SourceKind(prefix if separator else "")
        except ValueError:
            kinds = ", ".join(f"{item}:" for item in SourceKind)
            raise ValueError(f"a source begins with one of {kinds} not {text[:40]!r}") from None
        _CHECKS[kind](location)
        return cls(kind, location)

    def __str__(self) -> str:
        return f"{self.kind}:{self.location}"


def _package_check(location: str) -> None:
    module, separator, path = location.partition("/")
    if not _MODULE.fullmatch(module) or not separator or not path:
        raise ValueError(f"a package source is package:MODULE/PATH, not {location[:80]!r}")
    if path.startswith("/") or "\\" in path or ".." in PurePosixPath(path).parts:
        raise ValueError(f"a package source stays inside its package, unlike {location[:80]!r}")


def _file_check(location: str) -> None:
    if not PurePosixPath(location).is_absolute() or "\x00" in location:
        raise ValueError(f"a file source is an absolute path, not {location[:80]!r}")


def _inline_check(location: str) -> None:
    try:
        size = len(base64.b64decode(location, validate=True))
    except ValueError as error:  # binascii.Error, or text that is not ASCII
        raise ValueError(f"an inline source is base64: {error}") from error
    if size > INLINE_LIMIT:
        raise ValueError(f"an inline source holds at most {INLINE_LIMIT} bytes, not {size}")


def _store_check(location: str) -> None:
    if not _SHA256.fullmatch(location):
        raise ValueError(
            f"a store source is a sha256 of 64 lower-case hexadecimal digits, not {location[:80]!r}"
        )


_CHECKS = {
    SourceKind.PACKAGE: _package_check,
    SourceKind.FILE: _file_check,
    SourceKind.INLINE: _inline_check,
    SourceKind.STORE: _store_check,
}
