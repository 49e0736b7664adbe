"""Valid manifests and versions, for tests."""

from typing import Protocol

from models_registry.manifest import Manifest, ManifestShard, ShardRole
from models_registry.models import ModelVersion, SpeechModel
from models_registry.services import speech_model_create, version_register
from models_registry.states import VersionState


class VersionMaker(Protocol):
    """`version_of` as a fixture, which opens the database."""

    def __call__(
        self, label: str, model: str = "demo", state: VersionState = VersionState.READY
    ) -> ModelVersion: ...


def manifest_of(engine: str = "tone", version: str = "1") -> Manifest:
    """A small valid manifest."""
    shard = ManifestShard(
        name="config",
        role=ShardRole.PREPROCESS,
        sources=("inline:e30=",),
        size=2,
        sha256="44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
    )
    return Manifest(
        engine=engine,
        version=version,
        shards=(shard,),
        sample_rate=24_000,
        languages=("en", "zh"),
        speakers=("a", "b"),
        licence="Apache-2.0",
        commercial_use=True,
    )


def version_of(
    label: str, model: str = "demo", state: VersionState = VersionState.READY
) -> ModelVersion:
    """Version `label` of `model`, which is made if need be."""
    owner = SpeechModel.objects.filter(name=model).first()
    if owner is None:
        owner = speech_model_create(name=model, engine="tone")
    return version_register(model=owner, manifest=manifest_of(version=label), state=state)
