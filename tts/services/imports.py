"""Importing models: verified bytes become a version, its speakers become voices."""

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from django.db import transaction

from models_registry.batching import Batching
from tts.engine.errors import EngineError
from tts.engines.base import EngineKind
from tts.engines.tone import config as tone
from tts.errors import ModelImportFailed
from tts.services.registering import (
    DESCRIPTIONS,
    ImportedVersion,
    manifest_read,
    route_ensure,
    version_import,
)
from tts.voice_catalogue import kokoro_voices, tone_voices

TONE_VERSION = "1"
# The tone engine costs next to nothing a row: many streams, all in one step, no waiting.
TONE_BATCHING = Batching(max_slots=512, max_batch=512, max_wait_ms=0)
ROUTES = {
    "tts-1": ("realtime", "OpenAI's name for fast speech."),
    "tts-1-hd": ("hq", "OpenAI's name for speech of high quality."),
    "gpt-4o-mini-tts": ("", "OpenAI's newest name; the key's own tier decides."),
}


def kokoro_import(folder: Path | None = None, version: str | None = None) -> ImportedVersion:
    """Import the bundled Kokoro, or the official release's files in `folder`.

    Safe to run again: a version that is there with the same bytes stays as it
    is. Raises ModelImportFailed.
    """
    # Imported here: what reads the engine's files is of no use to a web process.
    from tts.engines.kokoro import manifest as kokoro

    try:
        if folder is None:
            reason = kokoro.bundled_available()
            if reason is not None:
                raise ModelImportFailed(reason)
            found = kokoro.bundled_manifest()
        elif version is None:
            found = kokoro.official_manifest(folder)
        else:
            found = kokoro.official_manifest(folder, version)
    except EngineError as error:
        raise ModelImportFailed(error.message) from error
    manifest = manifest_read({**found.to_json(), "version": version or found.version})
    return version_import(manifest, kokoro_voices(found.speakers), Batching())


def tone_import(
    version: str = TONE_VERSION, config: Mapping[str, object] | None = None
) -> ImportedVersion:
    """Import the tone engine with a configuration of its own; raises ModelImportFailed."""
    content = json.dumps(dict(config or {}), sort_keys=True).encode()
    try:
        settings = tone.parse(content)
    except EngineError as error:
        raise ModelImportFailed(error.message) from error
    shard = {
        "name": "config",
        "role": "preprocess",
        "sources": [f"inline:{base64.b64encode(content).decode()}"],
        "bytes": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    manifest = manifest_read(
        {
            "engine": "tone",
            "version": version,
            "shards": [shard],
            "sample_rate": settings.sample_rate,
            "languages": ["en", "zh"],
            "speakers": [voice.name for voice in tone_voices()],
            "licence": "AGPL-3.0-or-later",
            "source": "Voicehost itself",
            "commercial_use": True,
        }
    )
    waits = settings.mode == EngineKind.UTTERANCE and settings.batches
    batching = replace(TONE_BATCHING, max_wait_ms=50) if waits else TONE_BATCHING
    return version_import(manifest, tone_voices(), batching)


def model_import_bundled() -> str:
    """Have a model that speaks, and routes to it; safe to call at every start.

    Routes that are there stay as they are, and those that were deleted stay away. Only
    those which the first start had to give to `tone`, and nobody has touched since, get
    Kokoro once it is installed. Returns a line that says what speaks, and why where it is `tone`.
    """
    with transaction.atomic():
        tones = tone_import()
        route_ensure("tone", "", DESCRIPTIONS["tone"], tones.key)
        try:
            kokoro = kokoro_import()
        except ModelImportFailed as error:
            speaking, line = tones.key, f"Speaking in tones ({tones.key}): {error}."
        else:
            speaking, line = kokoro.key, f"Speaking with {kokoro.key}."
            route_ensure("kokoro", "", DESCRIPTIONS["kokoro"], kokoro.key)
        chosen = {
            name: route_ensure(name, tier, description, speaking)
            for name, (tier, description) in ROUTES.items()
        }["tts-1"]
    if chosen is None or speaking in chosen:
        return line
    return f"Speaking with {' and '.join(chosen)}."
