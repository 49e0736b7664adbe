"""Importing ChatTTS: from a folder or the hub, with random voices, and into the routes."""

from dataclasses import replace
from pathlib import Path

from django.conf import settings
from django.db import transaction

from models_registry.batching import Batching
from models_registry.errors import RegistryError
from models_registry.services import route_set
from tts.engine.errors import EngineError
from tts.errors import ModelImportFailed
from tts.services.checks import unverified_line
from tts.services.imports import ROUTES
from tts.services.registering import (
    DESCRIPTIONS,
    ImportedVersion,
    manifest_read,
    route_ensure,
    version_import,
)
from tts.voice_catalogue import chattts_voices

ROUTED = ("tts-1", "tts-1-hd")
ACTOR = "CHATTTS"
"""Who set a route, in its history."""
# A step engine: requests join at every step, so none waits for others. These are the most that any
# device has slots for: each profile takes what it holds where it runs.
BATCHING = Batching(max_slots=64, max_batch=64, max_wait_ms=0)


def chattts_import(place: str, version: str | None = None) -> ImportedVersion:
    """Import the checkpoint in the folder `place`, or of the hub (`owner/name[@revision]`).

    A checkpoint of the hub is kept in the state folder. Safe to run again: a version that is
    there with the same bytes stays as it is, any other has to speak a few tokens first. Raises
    ModelImportFailed; nothing is changed then.
    """
    # Imported here: a web process has no use for what reads checkpoints.
    from tts.engines.chattts.hub import HubId, hub_download
    from tts.engines.chattts.manifest import chattts_manifest
    from tts.engines.chattts.smoke import smoke_speak

    folder = Path(place).expanduser()
    hub = None if folder.is_dir() else HubId.parse(place)
    if hub is None and not folder.is_dir():
        raise ModelImportFailed(
            f"there is no folder {place}, and it is not written like a hub id (owner/name)"
        )
    try:
        if hub is not None:
            folder = hub_download(hub, settings.VAR_DIR / "models")
        found = chattts_manifest(folder, version)
    except EngineError as error:
        raise ModelImportFailed(error.message) from error
    if hub is not None:
        found = replace(found, source=f"{found.source} (from the hub's {hub})")
    return version_import(manifest_read(found.to_json()), chattts_voices(), BATCHING, smoke_speak)


def chattts_speak(place: str) -> str:
    """Import a checkpoint and have `tts-1` and `tts-1-hd` spoken by it; says what was done.

    A route that gives the version some weight already stays as it is, and one that was
    deleted stays away. Raises ModelImportFailed; nothing is changed then.
    """
    imported = chattts_import(place)
    routes = {"chattts": ("", DESCRIPTIONS["chattts"])} | {name: ROUTES[name] for name in ROUTED}
    gone = []
    try:
        with transaction.atomic():
            for name, (tier, description) in routes.items():
                weights = route_ensure(name, tier, description, imported.key)
                if weights is None:
                    gone.append(name)
                elif imported.key not in weights:
                    route_set(name, {imported.key: 100}, ACTOR)
    except RegistryError as error:
        raise ModelImportFailed(error.message) from error
    on = " and ".join(name for name in ROUTED if name not in gone) or "no route"
    lines = [f"Speaking with {imported.key} on {on}."]
    if gone:
        lines.append(f"Deleted routes stay away: {', '.join(gone)}. The admin makes them anew.")
    return "\n".join(filter(None, (*lines, unverified_line(imported.key))))
