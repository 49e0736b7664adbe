"""What a ChatTTS version consists of: a checkpoint's files, and the little that is not in them."""

import base64
import hashlib
import importlib.util
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from tts.engine.errors import VersionUnavailable
from tts.engines.chattts import ENGINE, SAMPLE_RATE, layout
from tts.engines.chattts.checkpoint import Checkpoint
from tts.engines.chattts.config import GptConfig, ModelConfig
from tts.engines.chattts.config_json import config_to_json
from tts.engines.chattts.gpt_shards import WHOLE, gpt_split, grouped
from tts.engines.chattts.speaker import SpeakerStatistics
from tts.engines.chattts.tokens import Vocabulary
from tts.engines.shards import ShardSpec, source_path

JsonObject = dict[str, object]

LANGUAGES = ("zh", "en")
LICENCE = "CC-BY-NC-4.0"
"""Of the weights that ChatTTS' authors publish, and of those made from them."""
RELEASE_SOURCE = "ChatTTS (2noise), the original release: all nine hashes are its authors'"

BY_DVAE = "; speaks by its DVAE, without the Decoder"

RELEASE_HASHES = {
    "Decoder.safetensors": "77aa55e0a977949c4733df3c6f876fa85860d3298cba63295a7bc6901729d4e0",
    "DVAE.safetensors": "1d0b044a8368c0513100a2eca98456b289e6be6a18b7a63be1bcaa315ea874d9",
    "Embed.safetensors": "2ff0be7134934155741b643b74e32fb6bf3eec41257984459b2ed60cdb4c48b0",
    "Vocos.safetensors": "07e5561491cce41f7f90cfdb94b2ff263ff5742c3d89339db99b17ad82cc3f44",
    "gpt/config.json": "0aaa1ecd96c49ad4f473459eb1982fa7ad79fa5de08cde2781bf6ad1f9a0c236",
    "gpt/model.safetensors": "cd0806fd971f52f6a22c923ec64982b305e817bcc41ca83417fcf9141b984a0f",
    "tokenizer/special_tokens_map.json": (
        "bd0ac9d9bb1657996b5c5fbcaa7d80f8de530d01a283da97f89deae5b1b8d011"
    ),
    "tokenizer/tokenizer_config.json": (
        "43e9d658b554fa5ee8d8e1d763349323bfef1ed7a89c0794220ab8861387d421"
    ),
    "tokenizer/tokenizer.json": "843838a64e121e23e774cc75874c6fe862198d9f7dd43747914633a8fd89c20e",
}
"""Of the release, as ChatTTS 0.2.5 has them in res/sha256_map.json."""

_SHARDS = (
    ("tokenizer", "preprocess", layout.TOKENIZER),
    ("embed", "core", layout.EMBED),
    ("gpt", "core", layout.GPT),
    ("decoder", "postprocess", layout.DECODER),
    ("dvae", "postprocess", layout.DVAE),
    ("vocos", "postprocess", layout.VOCOS),
)


@dataclass(frozen=True, slots=True)
class ChatTtsManifest:
    """A version of ChatTTS: its shards, in loading order, and what they add up to.

    The shard "config" is `model` as JSON and "speaker" the text of the statistics of
    speakers: an engine sees shards alone. `files` are the sha256 of the checkpoint's files and
    of those statistics, by name: equal ones make the same version, however it is sharded.
    """

    version: str
    shards: tuple[ShardSpec, ...]
    model: ModelConfig
    source: str
    licence: str = LICENCE
    files: Mapping[str, str] = field(default_factory=dict)

    def grouped(self, folder: Path) -> "ChatTtsManifest":
        """The same version with its decoder in groups of layers, which are written to `folder`.

        Raises VersionUnavailable, OSError.
        """
        model = replace(self.model, gpt=grouped(self.model.gpt))
        (whole,) = (shard for shard in self.shards if shard.name == WHOLE)
        source = source_path(whole.sources[0])
        if source is None:
            raise VersionUnavailable(f"shard {WHOLE!r} is no file")
        parts = [
            replace(
                whole,
                name=name,
                sources=(f"file:{path}",),
                bytes=path.stat().st_size,
                sha256=_sha256(path),
            )
            for name, path in gpt_split(source, model.gpt, folder).items()
        ]
        shards: list[ShardSpec] = []
        for shard in self.shards:
            if shard.name == "config":
                shards.append(_inline("config", _config_text(model)))
            else:
                shards.extend(parts if shard is whole else [shard])
        return replace(self, model=model, shards=tuple(shards))

    def to_json(self) -> JsonObject:
        """As the registry's manifest reads it."""
        return {
            "engine": ENGINE,
            "version": self.version,
            "sample_rate": SAMPLE_RATE,
            "languages": list(LANGUAGES),
            "speakers": [],
            "licence": self.licence,
            "source": self.source,
            "commercial_use": False,
            "config": {"model": config_to_json(self.model), **self._identity()},
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

    def _identity(self) -> JsonObject:
        # Where the files are shards themselves, they tell by their own sha256.
        return {"files": dict(self.files)} if self.model.gpt.groups else {}


def is_random(source: str) -> bool:
    """Whether a manifest's `source` says that nobody trained the weights: they speak noise."""
    return source.startswith(layout.RANDOM_SOURCE)


def chattts_manifest(
    folder: Path, version: str | None = None, *, use_decoder: bool = True
) -> ChatTtsManifest:
    """The manifest of the checkpoint in `folder` (or `folder`/asset); reads all of it once.

    Without a `version` it is called "release", or by its digest if it is another. Without
    `use_decoder` the version speaks by its DVAE. Raises VersionUnavailable saying which file is
    missing, damaged or of another model.
    """
    checkpoint = Checkpoint.open(folder, use_decoder=use_decoder)
    checkpoint.check_values()
    asset, model = checkpoint.asset, checkpoint.config
    _check_vocabulary(asset, model.gpt)
    speakers = _speakers(asset)
    SpeakerStatistics.read(speakers.statistics, model.gpt.hidden)
    hashes = {
        name: _sha256(asset / name)
        for name in RELEASE_HASHES
        if (asset / name).is_file() and (use_decoder or name != layout.DECODER)
    }
    shards = _shard_specs(checkpoint, speakers.statistics, hashes)
    digest = hashlib.sha256("".join(shard.sha256 for shard in shards).encode()).hexdigest()
    label = "release" if hashes == RELEASE_HASHES else digest[:12]
    return ChatTtsManifest(
        version=version or label,
        shards=shards,
        model=model,
        files={**hashes, "speaker": hashlib.sha256(speakers.statistics.encode()).hexdigest()},
        source=(speakers.source or _source(hashes)) + ("" if use_decoder else BY_DVAE),
        licence="" if speakers.source else LICENCE,
    )


def _check_vocabulary(asset: Path, gpt: GptConfig) -> None:
    """Raise VersionUnavailable unless every token has an embedding, and every embedding a token."""
    vocabulary = Vocabulary.read((asset / layout.TOKENIZER).read_bytes())
    if vocabulary.size != gpt.text_tokens:
        raise VersionUnavailable(
            f"{layout.TOKENIZER}: has {vocabulary.size:,} tokens, {layout.EMBED} has"
            f" {gpt.text_tokens:,}"
        )
    if vocabulary.last >= gpt.text_tokens:
        raise VersionUnavailable(
            f"{layout.TOKENIZER}: has a token with the id {vocabulary.last:,}, the embeddings of"
            f" {layout.EMBED} are those of 0 to {gpt.text_tokens - 1:,}"
        )


def _shard_specs(
    checkpoint: Checkpoint, statistics: str, hashes: Mapping[str, str]
) -> tuple[ShardSpec, ...]:
    """The inline shards, then the checkpoint's files."""
    asset = checkpoint.asset
    return (
        _inline("config", _config_text(checkpoint.config)),
        _inline("speaker", statistics),
        *(
            ShardSpec(
                name=name,
                role=role,
                sources=(f"file:{asset / file}",),
                bytes=(asset / file).stat().st_size,
                sha256=hashes[file],
                dtype="" if file == layout.TOKENIZER else checkpoint.dtype(file),
            )
            for name, role, file in _SHARDS
            if file != layout.DECODER or checkpoint.config.decoder is not None
        ),
    )


@dataclass(frozen=True, slots=True)
class _Speakers:
    """The text of the statistics; `source` says what the checkpoint is, if it is no release's."""

    statistics: str
    source: str = ""


def _speakers(asset: Path) -> _Speakers:
    """From the checkpoint's own file, else from ChatTTS' code, where the release has them."""
    path = asset / layout.SPEAKER
    if not path.exists():
        return _Speakers(release_statistics())
    try:
        value = json.loads(path.read_bytes())
        return _Speakers(str(value["spk_stat"]), str(value.get("source", "")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise VersionUnavailable(
            f"{layout.SPEAKER}: expected an object with 'spk_stat': {error}"
        ) from error


def release_statistics() -> str:
    """The release's `spk_stat`, from the installed ChatTTS; raises VersionUnavailable.

    Only its file with the configuration is run: importing ChatTTS takes torch and ten seconds.
    """
    package = importlib.util.find_spec("ChatTTS")
    places = package.submodule_search_locations if package else None
    for place in places or ():
        path = Path(place) / "config" / "config.py"
        spec = importlib.util.spec_from_file_location("chattts_release_config", path)
        if path.is_file() and spec is not None and spec.loader is not None:
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return str(module.Config().spk_stat)
    raise VersionUnavailable(
        f"the checkpoint has no {layout.SPEAKER}, and the statistics of the release's speakers are"
        " in the package ChatTTS, which is not installed"
    )


def _source(hashes: dict[str, str]) -> str:
    if hashes == RELEASE_HASHES:
        return RELEASE_SOURCE
    same = sum(RELEASE_HASHES[name] == found for name, found in hashes.items())
    return f"a ChatTTS checkpoint; {same} of its files are those of the original release"


def _config_text(model: ModelConfig) -> str:
    return json.dumps(config_to_json(model), sort_keys=True)


def _inline(name: str, text: str) -> ShardSpec:
    content = text.encode()
    return ShardSpec(
        name=name,
        role="preprocess",
        sources=(f"inline:{base64.b64encode(content).decode()}",),
        bytes=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
    )


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
