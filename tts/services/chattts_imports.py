"""Importing ChatTTS: from a folder or the hub, with random voices, and into the routes."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import transaction

from models_registry.batching import Batching
from models_registry.errors import RegistryError
from models_registry.manifest import Manifest
from models_registry.models import ModelVersion
from models_registry.selectors import manifest_readable, routes_of_version
from models_registry.services import route_set
from tts.engine.errors import EngineError
from tts.errors import ModelImportFailed
from tts.services.checks import Told, check_if_due, unverified_line, unverified_mark
from tts.services.imports import ROUTES
from tts.services.registering import (
    DESCRIPTIONS,
    ImportedVersion,
    manifest_read,
    route_ensure,
    version_import,
)
from tts.services.storing import Progress, no_progress
from tts.voice_catalogue import chattts_voices

if TYPE_CHECKING:
    from tts.engines.chattts.manifest import ChatTtsManifest

WORK_FOLDER = "imports"
"""Of the state folder: what imports write before it is in the store."""
ROUTED = ("tts-1", "tts-1-hd")
ACTOR = "CHATTTS"
"""Who set a route, in its history."""
# A step engine: requests join at every step, so none waits for others. These are the most that any
# device has slots for: each profile takes what it holds where it runs.
BATCHING = Batching(max_slots=64, max_batch=64, max_wait_ms=0)


def chattts_import(
    place: str,
    version: str | None = None,
    *,
    use_decoder: bool = True,
    progress: Progress = no_progress,
) -> ImportedVersion:
    """Import the checkpoint in the folder `place`, or of the hub (`owner/name[@revision]`).

    Without `use_decoder` the version speaks by its DVAE, and needs no Decoder.
    A checkpoint of the hub is kept in the state folder. Safe to run again: a version that is
    there with the same bytes stays as it is, any other has to speak a few tokens first. Real
    weights are not computed in int8 before somebody has listened to them (`check_if_due`). Raises
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
            folder = hub_download(hub, settings.VAR_DIR / "models", use_decoder=use_decoder)
        found = chattts_manifest(folder, version, use_decoder=use_decoder)
        if hub is not None:
            found = replace(found, source=f"{found.source} (from the hub's {hub})")
        with _sharded(found, version) as manifest:
            imported = version_import(manifest, chattts_voices(), BATCHING, smoke_speak, progress)
    except EngineError as error:
        raise ModelImportFailed(error.message) from error
    except OSError as error:
        raise ModelImportFailed(f"{place} cannot be imported: {error}") from error
    unverified_mark(imported.key)
    return imported


@contextmanager
def _sharded(found: "ChatTtsManifest", label: str | None) -> Iterator[Manifest]:
    """The manifest to register: what these files are here already, or by groups of layers anew.

    The files of the groups are there as long as the block lasts.
    """
    known = _known(found, label)
    if known is not None and known.config.get("files") == dict(found.files):
        yield known
    elif known is not None:
        # Registered before versions were split: it stays as it is.
        yield manifest_read({**found.to_json(), "version": known.version})
    else:
        work = settings.VAR_DIR / WORK_FOLDER
        work.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=work, prefix="chattts-") as folder:
            yield manifest_read(found.grouped(Path(folder)).to_json())


def _known(found: "ChatTtsManifest", label: str | None) -> Manifest | None:
    """The manifest of the same files that is registered already, under that label if one is."""
    digests = [shard.sha256 for shard in found.shards]
    for version in ModelVersion.objects.filter(model__name="chattts").order_by("pk"):
        manifest = manifest_readable(version)
        if manifest is None or label not in (None, version.label):
            continue
        same = [shard.sha256 for shard in manifest.shards] == digests
        if same or manifest.config.get("files") == dict(found.files):
            return manifest
    return None


def chattts_speak(place: str, told: Told) -> str:
    """Import a checkpoint and have `tts-1` and `tts-1-hd` spoken by it; says what was done.

    Before it is routed a recogniser listens to it, where one is installed and none has yet;
    `told` gets lines about that as they come. A version that was there before keeps the routes
    that an operator gave it, or none: this runs at every start. Routes that were deleted stay
    away. Raises ModelImportFailed; no route is changed then.
    """
    imported = chattts_import(place)
    check_if_due(imported.key, told)
    try:
        gone = _routes_take(imported.key) if imported.is_new else []
    except RegistryError as error:
        raise ModelImportFailed(error.message) from error
    speaking = routes_of_version(imported.key)
    lines = [f"Speaking with {imported.key} on {', '.join(speaking)}."]
    if not speaking:
        how = f"manage.py route_set {ROUTED[0]} {imported.key}=100"
        lines = [f"{imported.key} is imported, and no route gives it weight: '{how}' does."]
    if gone:
        lines.append(f"Deleted routes stay away: {', '.join(gone)}. The admin makes them anew.")
    return "\n".join(filter(None, (*lines, unverified_line(imported.key))))


def _routes_take(key: str) -> list[str]:
    """Give the version all weight; returns the routes that were deleted and are left so."""
    routes = {"chattts": ("", DESCRIPTIONS["chattts"])} | {name: ROUTES[name] for name in ROUTED}
    gone = []
    with transaction.atomic():
        for name, (tier, description) in routes.items():
            weights = route_ensure(name, tier, description, key)
            if weights is None:
                gone.append(name)
            elif key not in weights:
                route_set(name, {key: 100}, ACTOR)
    return gone
