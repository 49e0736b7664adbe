"""What a loaded engine consists of: the vocabulary, the step loop and the vocoder of one profile.

An engine speaks with them, and an import tries them before a version is ready.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tts.engine.errors import VersionUnavailable
from tts.engines.base import Device, Shards
from tts.engines.chattts.backend import GptBackend
from tts.engines.chattts.backends import backend_create
from tts.engines.chattts.config import GptConfig, ModelConfig
from tts.engines.chattts.config_json import config_from_json
from tts.engines.chattts.decoding import AudioDecoding, Decoding, TextDecoding
from tts.engines.chattts.generation import Kind
from tts.engines.chattts.loop import StepLoop
from tts.engines.chattts.native.binding import NativeError
from tts.engines.chattts.profile import ProfileSettings
from tts.engines.chattts.tokens import Vocabulary
from tts.engines.chattts.vocoder import Vocoder, mel_shard
from tts.engines.chattts.weights import Embeddings, embeddings, text_head


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything that computes; what shards have in common is shared."""

    model: ModelConfig
    vocabulary: Vocabulary
    backend: GptBackend
    loop: StepLoop
    vocoder: Vocoder


def parts_load(
    shards: Shards,
    device: Device,
    settings: ProfileSettings,
    *,
    stable: bool = True,
) -> Parts:
    """Build all parts; raises VersionUnavailable, MemoryError. `stable`: see backend_create."""
    model = config_from_json(json.loads(bytes(shards.read("config"))))
    vocabulary = shards.resident(
        "tokenizer", "chattts-vocabulary", lambda: Vocabulary.read(bytes(shards.read("tokenizer")))
    )
    tables = shards.resident(
        ("embed", "config"),
        "chattts-embeddings",
        lambda: embeddings(model.gpt, shards.read("embed")),
        lambda tables: tables.bytes,
    )
    with _refused():
        backend = backend_create(
            shards, model.gpt, settings.cache, settings.precision, device, stable=stable
        )
    try:
        shards.account("cache", backend.cache_bytes)
        decodings = _decodings(shards, settings, model.gpt, tables, vocabulary)
        loop = StepLoop(backend, model.gpt, tables, decodings)
        with _refused():
            vocoder = _vocoder(shards, device, settings, model)
    except BaseException:
        backend.close()
        raise
    return Parts(model, vocabulary, backend, loop, vocoder)


def _decodings(
    shards: Shards,
    settings: ProfileSettings,
    config: GptConfig,
    tables: Embeddings,
    vocabulary: Vocabulary,
) -> dict[Kind, Decoding]:
    slots = settings.cache.slots
    decodings: dict[Kind, Decoding] = {Kind.AUDIO: AudioDecoding(config, tables, slots)}
    if settings.refines:
        head = shards.resident(
            ("embed", "config"),
            "chattts-text-head",
            lambda: text_head(config, shards.read("embed")),
            lambda head: head.nbytes,
        )
        decodings[Kind.TEXT] = TextDecoding(head, tables, slots, vocabulary.end_of_refinement)
    return decodings


def _vocoder(
    shards: Shards, device: Device, settings: ProfileSettings, model: ModelConfig
) -> Vocoder:
    group = settings.vocoder_group
    return shards.resident(
        (mel_shard(model), "vocos", "config"),
        f"chattts-vocoder-{settings.vocoder}-{device.name}-{device.threads}-{group}",
        lambda: Vocoder.load(shards, model, device, settings.vocoder, group),
        lambda vocoder: vocoder.bytes,
    )


@contextmanager
def _refused() -> Iterator[None]:
    """What a backend or the compiled library refuses is a version that cannot be loaded."""
    try:
        yield
    except (ValueError, NativeError) as error:
        raise VersionUnavailable(f"ChatTTS' weights cannot be computed with: {error}") from error
