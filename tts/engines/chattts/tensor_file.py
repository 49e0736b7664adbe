"""A safetensors file, read without copies: https://huggingface.co/docs/safetensors.

Eight bytes (little-endian) say how long the JSON header is; the header gives each tensor's
type, shape and place; the tensors' bytes follow, and nothing else.
"""

import json
import math
import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeGuard

import numpy as np
from numpy.typing import NDArray

from tts.engine.errors import VersionUnavailable
from tts.engines.chattts.layout import Shape, Shapes

Floats = NDArray[np.float32]
Buffer = bytes | mmap.mmap | memoryview

_LENGTH = 8
_HEADER_LIMIT = 16 * 1024 * 1024
_TYPES: dict[str, np.dtype[Any]] = {
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "BF16": np.dtype("<u2"),
}


@dataclass(frozen=True, slots=True)
class _Entry:
    dtype: str
    shape: Shape
    start: int


@dataclass(frozen=True, slots=True)
class TensorFile:
    """The floating point tensors of one file; `name` is what errors call the file."""

    name: str
    _buffer: Buffer
    _entries: dict[str, _Entry]

    @classmethod
    def read(cls, name: str, buffer: Buffer) -> Self:
        """Read the header, and compare it with the bytes that are there.

        Raises VersionUnavailable saying what is damaged, and which tensor.
        """
        header, start = _header(name, buffer)
        entries = {}
        spans = []
        for key, value in header.items():
            if key != "__metadata__":
                entries[key], span = _entry(f"{name}: tensor {key!r}", value, start)
                spans.append((*span, key))
        position = 0
        for begin, end, key in sorted(spans):
            if begin != position:
                raise VersionUnavailable(f"{name}: tensor {key!r} is not where the last one ends")
            position = end
        if start + position != len(buffer):
            raise VersionUnavailable(
                f"{name}: has {len(buffer):,} bytes, its header speaks of {start + position:,};"
                " the file is truncated or damaged"
            )
        return cls(name, buffer, entries)

    @property
    def shapes(self) -> Shapes:
        """The shape of every tensor."""
        return {name: entry.shape for name, entry in self._entries.items()}

    @property
    def dtypes(self) -> frozenset[str]:
        """The types that occur: "F32", "F16", "BF16"."""
        return frozenset(entry.dtype for entry in self._entries.values())

    def renamed(self, names: dict[str, str]) -> "TensorFile":
        """The file with only the tensors that `names` has, new name to old."""
        entries = {new: self._entries[old] for new, old in names.items()}
        return TensorFile(self.name, self._buffer, entries)

    def floats(self, tensor: str) -> Floats:
        """One tensor: a read-only view of the bytes if they are float32, else a copy."""
        entry = self._entries[tensor]
        count = math.prod(entry.shape)
        stored = np.frombuffer(self._buffer, _TYPES[entry.dtype], count, entry.start)
        if entry.dtype == "BF16":
            stored = (stored.astype(np.uint32) << 16).view(np.float32)
        values: Floats = stored.astype(np.float32, copy=False).reshape(entry.shape)
        return values

    def stored(self, tensor: str) -> tuple[str, Shape, memoryview]:
        """One tensor's type, shape and bytes, as they are in the file."""
        entry = self._entries[tensor]
        size = math.prod(entry.shape) * _TYPES[entry.dtype].itemsize
        view = memoryview(self._buffer)[entry.start : entry.start + size]
        return entry.dtype, entry.shape, view

    def check(self, expected: Shapes) -> None:
        """Raise VersionUnavailable unless names and shapes are those expected."""
        for tensor, shape in expected.items():
            found = self._entries.get(tensor)
            if found is None:
                raise VersionUnavailable(f"{self.name}: tensor {tensor!r} {list(shape)} is missing")
            if found.shape != shape:
                raise VersionUnavailable(
                    f"{self.name}: tensor {tensor!r} has shape {list(found.shape)},"
                    f" expected {list(shape)}"
                )
        strangers = sorted(self._entries.keys() - expected.keys())
        if strangers:
            raise VersionUnavailable(
                f"{self.name}: tensor {strangers[0]!r} is not one of ChatTTS'"
                f" ({len(strangers)} such tensors)"
            )

    def check_finite(self) -> None:
        """Raise VersionUnavailable if a value of any tensor is infinite or not a number."""
        for tensor in self._entries:
            values = self.floats(tensor)
            # Either extreme of an array with a NaN is NaN; that needs no array of booleans.
            if values.size and not np.isfinite((values.min(), values.max())).all():
                raise VersionUnavailable(
                    f"{self.name}: tensor {tensor!r} has values that are not finite numbers"
                )


@contextmanager
def tensor_file_open(path: Path, name: str) -> Iterator[TensorFile]:
    """Map a file into memory for as long as the block runs; raises VersionUnavailable."""
    try:
        with path.open("rb") as stream:
            # An empty file cannot be mapped.
            size = path.stat().st_size
            buffer = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
    except OSError as error:
        raise VersionUnavailable(f"{name}: cannot be read: {error.strerror}") from error
    yield TensorFile.read(name, buffer)


def _header(name: str, buffer: Buffer) -> tuple[dict[str, object], int]:
    """The header, and where the tensors' bytes begin."""
    if len(buffer) < _LENGTH:
        raise VersionUnavailable(f"{name}: has {len(buffer)} bytes, which is no safetensors file")
    start = _LENGTH + int.from_bytes(buffer[:_LENGTH], "little")
    if start > min(len(buffer), _HEADER_LIMIT):
        raise VersionUnavailable(
            f"{name}: is no safetensors file, or truncated: its header would end at byte {start:,}"
            f" of {len(buffer):,}"
        )
    try:
        header = json.loads(bytes(buffer[_LENGTH:start]))
    except (ValueError, RecursionError) as error:
        raise VersionUnavailable(f"{name}: its header is damaged: {error}") from error
    if not isinstance(header, dict):
        raise VersionUnavailable(f"{name}: its header is no JSON object")
    return header, start


def _entry(where: str, value: object, start: int) -> tuple[_Entry, tuple[int, int]]:
    fields = value if isinstance(value, dict) else {}
    dtype, shape, span = (fields.get(key) for key in ("dtype", "shape", "data_offsets"))
    if dtype not in _TYPES:
        raise VersionUnavailable(f"{where} is of type {dtype!r}, expected {', '.join(_TYPES)}")
    if not _naturals(shape) or not _naturals(span) or len(span) != 2:
        raise VersionUnavailable(f"{where}: the header's shape or place is damaged")
    begin, end = span
    size = math.prod(shape) * _TYPES[dtype].itemsize
    if end - begin != size:
        raise VersionUnavailable(
            f"{where}: shape {shape} of {dtype} needs {size:,} bytes, the header gives it"
            f" {end - begin:,}"
        )
    return _Entry(dtype, tuple(shape), start + begin), (begin, end)


def _naturals(value: object) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(type(item) is int and item >= 0 for item in value)
