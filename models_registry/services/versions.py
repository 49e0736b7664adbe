"""Models, versions, their states and their batching settings."""

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from coordination.epoch import epoch_bump
from models_registry.batching import Batching
from models_registry.errors import (
    ModelInvalid,
    VersionNotFound,
    VersionStateConflict,
)
from models_registry.manifest import Manifest
from models_registry.models import ModelVersion, RouteWeight, Shard, SpeechModel
from models_registry.states import VersionState


def speech_model_create(*, name: str, engine: str, description: str = "") -> SpeechModel:
    """Register a model family; raises ModelInvalid when the name is taken or malformed."""
    model = SpeechModel(name=name, engine=engine, description=description)
    try:
        model.full_clean()
    except ValidationError as error:
        raise ModelInvalid(_sentences(error), param="name") from error
    model.save()
    return model


def speech_model_describe(model: SpeechModel, *, description: str) -> None:
    """Change a model's description."""
    model.description = description
    model.save(update_fields=["description"])


def version_register(
    *,
    model: SpeechModel,
    manifest: Manifest,
    batching: Batching | None = None,
    state: VersionState = VersionState.DRAFT,
) -> ModelVersion:
    """Store a version and its shards under the key "model@version".

    `state` is READY only where the caller has checked the bytes against the
    manifest. Raises ModelInvalid when the engine is another's or the version
    exists.
    """
    if manifest.engine != model.engine:
        raise ModelInvalid(
            f"model '{model.name}' is spoken by engine '{model.engine}', "
            f"but the manifest is for '{manifest.engine}'"
        )
    settings = batching or Batching()
    version = ModelVersion(
        model=model,
        label=manifest.version,
        key=f"{model.name}@{manifest.version}",
        state=state,
        manifest=manifest.to_json(),
        max_slots=settings.max_slots,
        max_batch=settings.max_batch,
        max_wait_ms=settings.max_wait_ms,
    )
    try:
        version.full_clean(validate_constraints=False)
        with transaction.atomic():
            version.save()
            Shard.objects.bulk_create(_shards(version, manifest))
    except ValidationError as error:
        raise ModelInvalid(_sentences(error)) from error
    except IntegrityError as error:
        raise ModelInvalid(f"version '{version.key}' cannot be stored: {error}") from error
    epoch_bump()
    return version


def version_sources_refresh(version: ModelVersion, manifest: Manifest) -> None:
    """Take a manifest of the same bytes that lie elsewhere now, or are described anew.

    Raises ModelInvalid when the bytes are others: that is another version. What is
    stored need not be a readable manifest: this is how one is mended.
    """
    stored = version.manifest if isinstance(version.manifest, dict) else {}
    shards = {shard.name: (shard.size_bytes, shard.sha256) for shard in version.shards.all()}
    same = shards == _contents(manifest) and stored.get("config", {}) == manifest.config
    if not same or (version.model.engine, version.label) != (manifest.engine, manifest.version):
        raise ModelInvalid(
            f"version '{version.key}' is registered with other contents; "
            "register these under another version",
            param="version",
        )
    version.manifest = manifest.to_json()
    version.save(update_fields=["manifest"])
    epoch_bump()


def version_transition(
    version: ModelVersion, from_state: VersionState, to_state: VersionState, *, reason: str = ""
) -> ModelVersion:
    """Compare and set: to `to_state` if the version is still in `from_state`.

    Raises VersionStateConflict when it is not, or when one may not follow the
    other. `reason` is kept for FAILED. A version with weight on a route cannot
    be retired.
    """
    if to_state not in from_state.successors:
        allowed = ", ".join(sorted(from_state.successors)) or "nothing"
        raise VersionStateConflict(
            f"'{from_state}' may be followed by {allowed}, not by '{to_state}'", param="state"
        )
    with transaction.atomic():
        # The lock makes it a compare-and-set on PostgreSQL; SQLite takes its
        # one write lock when the transaction begins.
        current = ModelVersion.objects.select_for_update().get(pk=version.pk)
        if current.state != from_state:
            raise VersionStateConflict(
                f"version '{current.key}' is '{current.state}', no longer '{from_state}'",
                param="state",
            )
        if to_state == VersionState.RETIRED and _has_weight(current):
            raise VersionStateConflict(
                f"version '{current.key}' has weight on a route; set it to 0 first", param="state"
            )
        current.state = to_state
        current.failure_reason = reason if to_state == VersionState.FAILED else ""
        current.save(update_fields=["state", "failure_reason"])
        epoch_bump()
    version.state, version.failure_reason = current.state, current.failure_reason
    return current


def version_batching_set(version_key: str, batching: Batching) -> ModelVersion:
    """Change batching, in force within a second; raises VersionNotFound."""
    with transaction.atomic():
        version = ModelVersion.objects.select_for_update().filter(key=version_key).first()
        if version is None:
            raise VersionNotFound(f"there is no version '{version_key}'")
        version.max_slots = batching.max_slots
        version.max_batch = batching.max_batch
        version.max_wait_ms = batching.max_wait_ms
        version.save(update_fields=["max_slots", "max_batch", "max_wait_ms"])
        epoch_bump()
    return version


def _has_weight(version: ModelVersion) -> bool:
    return RouteWeight.objects.filter(version=version, weight__gt=0).exists()


def _contents(manifest: Manifest) -> dict[str, tuple[int, str]]:
    return {shard.name: (shard.size, shard.sha256) for shard in manifest.shards}


def _shards(version: ModelVersion, manifest: Manifest) -> list[Shard]:
    return [
        Shard(
            version=version,
            name=shard.name,
            role=shard.role,
            size_bytes=shard.size,
            sha256=shard.sha256,
            dtype=shard.dtype,
        )
        for shard in manifest.shards
    ]


def _sentences(error: ValidationError) -> str:
    return " ".join(error.messages)
