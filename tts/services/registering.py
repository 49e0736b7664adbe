"""Registering a version from a manifest: its bytes verified, its voices stored."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from django.db import transaction

from models_registry.batching import Batching
from models_registry.errors import RegistryError
from models_registry.manifest import Manifest
from models_registry.models import ModelVersion, Route, RouteEvent, SpeechModel
from models_registry.selectors import route_weights
from models_registry.services import (
    route_create,
    route_set,
    speech_model_create,
    version_register,
    version_sources_refresh,
    version_transition,
)
from models_registry.states import VersionState
from models_registry.storage import shard_store
from tenants.errors import NotFound
from tenants.selectors import tier_find
from tts.engine.errors import EngineError
from tts.engines.shards import LocalShards
from tts.errors import ModelImportFailed, VoiceInvalid
from tts.services.storing import Progress, manifest_stored, no_progress
from tts.services.voices import voices_sync
from tts.voice_catalogue import VoiceSeed

FIRST_START = "first start"
"""Who sets the routes that nobody chose."""
DESCRIPTIONS = {
    "kokoro": "Kokoro-82M: natural English and Mandarin, eight voices and their mixes.",
    "chattts": "ChatTTS: conversational Mandarin and English, a voice for every seed.",
    "tone": "Deterministic tones instead of speech, for tests and load tests.",
}


@dataclass(frozen=True, slots=True)
class ImportedVersion:
    """What an import did: the version's key, whether it is new, the names of new voices."""

    key: str
    is_new: bool
    voices: tuple[str, ...]
    size: int


def manifest_read(value: Mapping[str, object]) -> Manifest:
    """A manifest from what an engine's says; raises ModelImportFailed."""
    try:
        return Manifest.from_json(dict(value))
    except RegistryError as error:
        raise ModelImportFailed(error.message) from error


def version_import(
    manifest: Manifest,
    voices: Sequence[VoiceSeed],
    batching: Batching,
    trial: Callable[[LocalShards], None] | None = None,
    progress: Progress = no_progress,
) -> ImportedVersion:
    """Store, verify and register a version, and have its voices; all of it or nothing.

    Bytes that are not ready already must pass the engine's own `trial`, which raises EngineError.
    What is stored before a failure stays for the next try, and is no version's. Raises
    ModelImportFailed, also where the version's name has other bytes already.
    """
    try:
        manifest = manifest_stored(manifest, progress)
    except RegistryError as error:
        raise ModelImportFailed(error.message) from error
    key = f"{manifest.engine}@{manifest.version}"
    found = ModelVersion.objects.filter(key=key).first()
    settled = found is not None and found.state not in (VersionState.DRAFT, VersionState.VERIFIED)
    if found is None or not settled or found.manifest != manifest.to_json():
        _verify(manifest, trial)
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
        model = speech_model_create(name=name, engine=name, description=DESCRIPTIONS.get(name, ""))
    return version_register(model=model, manifest=manifest, batching=batching)


def _verify(manifest: Manifest, trial: Callable[[LocalShards], None] | None) -> None:
    """Compare every shard with the manifest, then try them; raises ModelImportFailed."""
    shards = LocalShards.of(manifest, shard_store().local)
    try:
        for shard in manifest.shards:
            shards.read(shard.name)
        if trial is not None:
            trial(shards)
    except EngineError as error:
        raise ModelImportFailed(error.message) from error


def route_ensure(name: str, tier: str, description: str, version_key: str) -> dict[str, int] | None:
    """Have a route, and give it `version_key` where a first start chose what it has.

    Returns its weights; None for a route that was deleted: whoever did that wants none.
    """
    history = RouteEvent.objects.filter(route_name=name)
    if not Route.objects.filter(name=name).exists():
        if history.exists():
            return None
        route_create(name=name, description=description, default_tier_id=_tier_id(tier))
    weights = route_weights(name)
    stands_in = all(key.startswith("tone@") for key in weights)
    untouched = not history.exclude(actor=FIRST_START).exists()
    if untouched and stands_in and weights.keys() != {version_key}:
        weights = {version_key: 100}
        route_set(name, weights, FIRST_START)
    return weights


def _tier_id(name: str) -> int | None:
    try:
        return tier_find(name).pk
    except NotFound:
        # Whoever renamed or deleted it wants the key's own.
        return None
