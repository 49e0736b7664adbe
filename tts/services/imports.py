"""Importing models: verified bytes become a version, its speakers become voices."""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from django.db import transaction

from models_registry.batching import Batching
from models_registry.errors import RegistryError
from models_registry.manifest import Manifest
from models_registry.models import ModelVersion, Route, SpeechModel
from models_registry.services import (
    route_create,
    route_set,
    speech_model_create,
    version_register,
    version_sources_refresh,
    version_transition,
)
from models_registry.states import VersionState
from tts.engine.errors import EngineError
from tts.engines.base import EngineKind
from tts.engines.shards import LocalShards
from tts.engines.tone import config as tone
from tts.errors import ModelImportFailed, VoiceInvalid
from tts.services.voices import voices_sync
from tts.voice_catalogue import VoiceSeed, kokoro_voices, tone_voices

FIRST_START = "first start"
TONE_VERSION = "1"
# The tone engine costs next to nothing a row: many streams, all in one step, no waiting.
TONE_BATCHING = Batching(max_slots=512, max_batch=512, max_wait_ms=0)
_DESCRIPTIONS = {
    "kokoro": "Kokoro-82M: natural English and Mandarin, eight voices and their mixes.",
    "tone": "Deterministic tones instead of speech, for tests and load tests.",
}
_ROUTES = {
    "tts-1": ("realtime", "OpenAI's name for fast speech."),
    "tts-1-hd": ("hq", "OpenAI's name for speech of high quality."),
    "gpt-4o-mini-tts": ("", "OpenAI's newest name; the key's own tier decides."),
}


@dataclass(frozen=True, slots=True)
class ImportedVersion:
    """What an import did: the version's key, whether it is new, the names of new voices."""

    key: str
    is_new: bool
    voices: tuple[str, ...]
    size: int


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
    manifest = _manifest({**found.to_json(), "version": version or found.version})
    return _import(manifest, kokoro_voices(found.speakers), Batching())


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
    manifest = _manifest(
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
    return _import(manifest, tone_voices(), batching)


def model_import_bundled() -> str:
    """Have a model that speaks, and routes to it; safe to call at every start.

    Routes that are there stay as they are, except that those which the first
    start had to give to `tone`, and nobody has touched since, get Kokoro once it
    is installed. Returns a line that says what speaks, and why where it is `tone`.
    """
    with transaction.atomic():
        tones = tone_import()
        _route_ensure("tone", "", _DESCRIPTIONS["tone"], tones.key)
        try:
            kokoro = kokoro_import()
        except ModelImportFailed as error:
            speaking, line = tones.key, f"Speaking in tones ({tones.key}): {error}."
        else:
            speaking, line = kokoro.key, f"Speaking with {kokoro.key}."
            _route_ensure("kokoro", "", _DESCRIPTIONS["kokoro"], kokoro.key)
        for name, (tier, description) in _ROUTES.items():
            _route_ensure(name, tier, description, speaking)
    return line


def _manifest(value: Mapping[str, object]) -> Manifest:
    try:
        return Manifest.from_json(dict(value))
    except RegistryError as error:
        raise ModelImportFailed(error.message) from error


def _import(manifest: Manifest, voices: Sequence[VoiceSeed], batching: Batching) -> ImportedVersion:
    """Verify, register under the engine's name, and have the voices."""
    key = f"{manifest.engine}@{manifest.version}"
    found = ModelVersion.objects.filter(key=key).first()
    settled = found is not None and found.state not in (VersionState.DRAFT, VersionState.VERIFIED)
    if found is None or not settled or found.manifest != manifest.to_json():
        _verify(manifest)
    try:
        with transaction.atomic():
            version = found or _registered(manifest, batching)
            if version.manifest != manifest.to_json():
                version_sources_refresh(version, manifest)
            if version.state == VersionState.DRAFT:
                version_transition(version, VersionState.DRAFT, VersionState.VERIFIED)
            if version.state == VersionState.VERIFIED:
                version_transition(version, VersionState.VERIFIED, VersionState.READY)
            made = voices_sync(manifest.engine, voices)
    except (RegistryError, VoiceInvalid) as error:
        raise ModelImportFailed(error.message) from error
    return ImportedVersion(key, found is None, tuple(voice.name for voice in made), manifest.size)


def _registered(manifest: Manifest, batching: Batching) -> ModelVersion:
    name = manifest.engine
    model = SpeechModel.objects.filter(name=name).first()
    if model is None:
        model = speech_model_create(name=name, engine=name, description=_DESCRIPTIONS.get(name, ""))
    return version_register(model=model, manifest=manifest, batching=batching)


def _verify(manifest: Manifest) -> None:
    """Read every shard once and compare it with the manifest; raises ModelImportFailed."""
    shards = LocalShards.of(manifest)
    for shard in manifest.shards:
        try:
            shards.read(shard.name)
        except EngineError as error:
            raise ModelImportFailed(error.message) from error


def _route_ensure(name: str, tier: str, description: str, version_key: str) -> None:
    route = Route.objects.filter(name=name).first()
    if route is None:
        route = route_create(name=name, description=description, default_tier=tier)
    weights = {row.version.key for row in route.weights.select_related("version")}
    touched = route.events.exclude(actor=FIRST_START).exists()
    stands_in = all(key.startswith("tone@") for key in weights)
    if not touched and stands_in and weights != {version_key}:
        route_set(name, {version_key: 100}, FIRST_START)
