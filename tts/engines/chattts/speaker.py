"""Speakers as ChatTTS writes them, read: `spk_emb` strings, `spk_smp` strings; and random ones.

Both strings are base16384 (https://github.com/fumiama/base16384) of raw LZMA2. In a `spk_emb`
are h float16 numbers, in a `spk_smp` uint16 audio tokens behind four bytes with their shape.

SpeakerInvalid  a string, a vector or codes that are not a speaker, and why
"""

import lzma
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import pybase16384
from numpy.typing import NDArray

from tts.engine.errors import VersionUnavailable
from tts.engines.chattts import EOS

Floats = NDArray[np.float32]
Codes = NDArray[np.int32]

MAX_TEXT = 32_768
"""Characters of a string at most."""
MAX_SAMPLE_TOKENS = 2_048
"""Audio tokens a codebook at most, 43.7 s."""
_MAX_BYTES = 64 * 1024
_HEADER = 4
_FILTERS = ({"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME},)
_FIRST, _LAST = 0x4E00, 0x8DFF
_TAIL = 0x3D00
"""base16384's digits begin at U+4E00; a last one U+3D01..06 says how many bytes are left over."""


class SpeakerInvalid(ValueError):
    """A speaker that cannot be used; `field` is "spk_emb" or "spk_smp"."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem


@dataclass(frozen=True, slots=True)
class SpeakerStatistics:
    """Of speaker vectors that sound natural: `deviation` and `mean`, both (h,) float32."""

    deviation: Floats
    mean: Floats

    @classmethod
    def read(cls, text: str, hidden: int) -> Self:
        """Read ChatTTS' `spk_stat`, 2 h float16 in base16384; raises VersionUnavailable."""
        where = "the statistics of speakers"
        try:
            values = np.frombuffer(_undigits("spk_stat", text), "<f2").astype(np.float32)
        except ValueError as error:
            raise VersionUnavailable(f"{where} cannot be read: {error}") from error
        if values.shape != (2 * hidden,) or not np.isfinite(values).all():
            raise VersionUnavailable(
                f"{where} must be {2 * hidden} finite numbers, not {len(values)}"
            )
        return cls(values[:hidden], values[hidden:])

    def random(self, seed: int) -> Floats:
        """The speaker (h,) of a seed, the same on every machine, as precise as a `spk_emb`."""
        drawn = np.random.Generator(np.random.PCG64(seed)).standard_normal(len(self.mean))
        values = drawn * self.deviation.astype(np.float64) + self.mean
        return values.astype(np.float16).astype(np.float32)


def embedding_decode(text: str, hidden: int) -> Floats:
    """The vector (h,) of a `spk_emb` string; raises SpeakerInvalid naming what is wrong."""
    field = "spk_emb"
    content = _undigits(field, text)
    try:
        packed = _unpacked(field, content)
    except SpeakerInvalid:
        if _is_sample(content):
            raise SpeakerInvalid(
                field, "this is a spk_smp (audio tokens of a recording), not a spk_emb"
            ) from None
        raise
    return embedding_read(packed, hidden)


def embedding_read(values: bytes, hidden: int) -> Floats:
    """The vector (h,) of its float16 bytes, little-endian; raises SpeakerInvalid."""
    field = "spk_emb"
    if len(values) != 2 * hidden:
        raise SpeakerInvalid(
            field,
            f"has {len(values) / 2:g} numbers, speakers of this model version have {hidden}"
            " (a voice made from a seed fits every version)",
        )
    vector = np.frombuffer(values, "<f2").astype(np.float32)
    if not np.isfinite(vector).all():
        raise SpeakerInvalid(field, "has numbers that are not finite")
    if not vector.any():
        raise SpeakerInvalid(field, "is all zeros, which is no direction")
    return vector


def embedding_bytes(vector: Floats) -> bytes:
    """The float16 bytes of a vector, little-endian; raises SpeakerInvalid if it has no such."""
    if not (np.abs(vector) <= np.finfo(np.float16).max).all():
        raise SpeakerInvalid("spk_emb", "has numbers that float16 cannot hold")
    return vector.astype("<f2").tobytes()


def sample_decode(text: str, codebooks: int) -> Codes:
    """The audio tokens (codebooks, t) of a `spk_smp` string; raises SpeakerInvalid."""
    field = "spk_smp"
    content = _undigits(field, text)
    shape = tuple(int(size) for size in np.frombuffer(content[:_HEADER], "<u2"))
    try:
        if len(shape) != 2:
            raise SpeakerInvalid(field, "is too short to hold a shape")
        packed = _unpacked(field, content[_HEADER:])
    except SpeakerInvalid:
        if _is_packed(content):
            raise SpeakerInvalid(
                field, "this is a spk_emb (a speaker's vector), not a spk_smp"
            ) from None
        raise
    if len(packed) != 2 * shape[0] * shape[1]:
        raise SpeakerInvalid(
            field, f"its header says {shape[0]} x {shape[1]} tokens, {len(packed)} bytes are there"
        )
    return sample_read(packed, shape[0], codebooks)


def sample_read(codes: bytes, rows: int, codebooks: int) -> Codes:
    """The audio tokens (codebooks, t) of their uint16 bytes; raises SpeakerInvalid."""
    field = "spk_smp"
    if rows != codebooks:
        raise SpeakerInvalid(field, f"has {rows} codebooks, this model has {codebooks}")
    if not codes or len(codes) % (2 * codebooks):
        raise SpeakerInvalid(field, f"{len(codes)} bytes are not {codebooks} rows of tokens")
    values = np.frombuffer(codes, "<u2").astype(np.int32).reshape(codebooks, -1)
    if values.shape[1] > MAX_SAMPLE_TOKENS:
        raise SpeakerInvalid(
            field, f"has {values.shape[1]} tokens, at most {MAX_SAMPLE_TOKENS} are allowed"
        )
    if int(values.max()) >= EOS:
        raise SpeakerInvalid(
            field, f"has token {int(values.max())}; audio tokens are 0 to {EOS - 1}"
        )
    return values


def sample_bytes(codes: NDArray[np.integer]) -> bytes:
    """The uint16 bytes of audio tokens (codebooks, t), little-endian, in C order."""
    return np.ascontiguousarray(codes).astype("<u2").tobytes()


def speaker_mix(vectors: Sequence[Floats], weights: Sequence[float]) -> Floats:
    """The speaker between others: their directions, added by weight, at unit length.

    Raises SpeakerInvalid where they cancel out.
    """
    mixed = np.zeros(len(vectors[0]), np.float64)
    for vector, weight in zip(vectors, weights, strict=True):
        mixed += weight * speaker_normalise(vector).astype(np.float64)
    length = float(np.sqrt(mixed @ mixed))
    if not length > 1e-6:
        raise SpeakerInvalid("spk_emb", "the speakers of the mix cancel each other out")
    return (mixed / length).astype(np.float32)


def speaker_normalise(vector: Floats) -> Floats:
    """The vector at unit length, as it stands in a prompt: v / max(|v|, 1e-12)."""
    values = vector.astype(np.float64)
    return (values / max(float(np.sqrt(values @ values)), 1e-12)).astype(np.float32)


def _undigits(field: str, text: str) -> bytes:
    """Decode base16384, whose decoder itself trusts its input."""
    if not text:
        raise SpeakerInvalid(field, "is empty")
    if len(text) > MAX_TEXT:
        raise SpeakerInvalid(field, f"has {len(text):,} characters, at most {MAX_TEXT:,} may be")
    body, left = text, 0
    if _TAIL < ord(text[-1]) <= _TAIL + 6:
        body, left = text[:-1], ord(text[-1]) - _TAIL
    for position, character in enumerate(body):
        if not _FIRST <= ord(character) <= _LAST:
            raise SpeakerInvalid(
                field, f"character {character!r} at position {position} is not of base16384"
            )
    # Seven bytes make four digits; a rest of n bytes makes as many digits as its bits need.
    if len(body) % 4 != -(-left * 8 // 14) % 4 or (left and not body):
        raise SpeakerInvalid(field, "is cut off, or was changed when it was copied")
    return bytes(pybase16384.decode_from_string(text))


def _unpacked(field: str, content: bytes) -> bytes:
    """Decompress, but never more than a speaker can have."""
    decompressor = lzma.LZMADecompressor(format=lzma.FORMAT_RAW, filters=_FILTERS)
    try:
        unpacked = decompressor.decompress(content, _MAX_BYTES + 1)
    except (lzma.LZMAError, EOFError) as error:
        raise SpeakerInvalid(field, f"cannot be decompressed: {error}") from error
    if len(unpacked) > _MAX_BYTES:
        raise SpeakerInvalid(field, f"decompresses to more than {_MAX_BYTES:,} bytes")
    if not decompressor.eof or decompressor.unused_data:
        raise SpeakerInvalid(field, "is cut off, or followed by something else")
    return unpacked


def _is_packed(content: bytes) -> bool:
    try:
        return bool(_unpacked("", content))
    except SpeakerInvalid:
        return False


def _is_sample(content: bytes) -> bool:
    return _is_packed(content[_HEADER:])
