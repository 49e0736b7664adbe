"""Versions whose speakers have different numbers of dimensions share voices, in whichever order."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from asgiref.sync import async_to_sync
from django.apps.registry import Apps
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from coordination.epoch import ConfigCache
from models_registry.selectors import version_spec_sync
from tests.tts.engines.chattts.speaking import Bench, embedding
from tts.engine.errors import VoiceUnavailable
from tts.engine.request import Profile, VoiceSpec
from tts.engines.base import Samples
from tts.engines.chattts.random_checkpoint import RandomCheckpoint, Size
from tts.engines.chattts.voice import Seed, material_unpack
from tts.models import Voice, VoiceOrigin
from tts.selectors import voice_resolve
from tts.services import VoiceDraft, chattts_import, voice_create

BEFORE = ("tts", "0003_voice_consent_recorded_by")
AFTER = ("tts", "0004_public_seeds_kept_as_seeds")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Checkpoints with speakers of 64 and of 256 dimensions, by version."""
    root = tmp_path_factory.mktemp("widths")
    for size in (Size.TINY, Size.SMALL):
        RandomCheckpoint(size).write(root / size)
    return {"64": root / Size.TINY, "256": root / Size.SMALL}


def _voice(name: str) -> VoiceSpec:
    resolve = async_to_sync(voice_resolve)
    return resolve(name, tenant_id=None, engine="chattts", cache=ConfigCache())


def _spoken(version: str, folders: dict[str, Path], voice: str) -> Samples:
    """The beginning of what the version says with the voice."""
    assert version_spec_sync(f"chattts@{version}").manifest.version == version
    bench = Bench.load(folders[version], Profile.STANDARD)
    try:
        _, (result,) = bench.until_audio(bench.prepare("hi", _voice(voice)))
    finally:
        bench.engine.close()
    return result.audio


@pytest.mark.django_db
@pytest.mark.parametrize(("first", "second"), [("64", "256"), ("256", "64")])
def test_both_speak_with_the_public_voices(
    folders: dict[str, Path], first: str, second: str
) -> None:
    assert len(chattts_import(str(folders[first]), first).voices) == 8
    before = _spoken(first, folders, "chattts_1")
    Voice.objects.filter(name="chattts_1").update(gain_db=-3.0)
    assert chattts_import(str(folders[second]), second).voices == ()
    assert _voice("chattts_1").gain_db == -3.0
    np.testing.assert_array_equal(_spoken(first, folders, "chattts_1"), before)
    assert _spoken(second, folders, "chattts_1").any()
    assert _spoken(second, folders, "chattts_1+chattts_2").any()


@pytest.mark.django_db
def test_an_embedding_speaks_with_versions_of_its_width_alone(folders: dict[str, Path]) -> None:
    draft = VoiceDraft(
        name="anna", engine="chattts", languages=("en",), payload=embedding(1, 64),
        origin=VoiceOrigin.EMBEDDING,
    )  # fmt: skip
    voice_create(draft)
    for version, folder in folders.items():
        chattts_import(str(folder), version)
    assert _spoken("64", folders, "anna").any()
    with pytest.raises(VoiceUnavailable, match=r"'anna'.* has 64 numbers, .* version have 256"):
        _spoken("256", folders, "anna")


def _migrated(target: tuple[str, str]) -> Apps:
    MigrationExecutor(connection).migrate([target])
    return MigrationExecutor(connection).loader.project_state([target]).apps


@pytest.mark.django_db(transaction=True)
def test_speakers_that_were_stored_for_one_width_become_seeds() -> None:
    try:
        old: Any = _migrated(BEFORE).get_model("tts", "Voice")
        for name, origin in (("chattts_3", "seed"), ("chattts_4", "embedding"), ("x", "seed")):
            old.objects.create(
                name=name, engine="chattts", origin=origin, languages=["zh"], payload=embedding(1),
                digest="0" * 64, display_name=name, speaker=name,
            )  # fmt: skip
    finally:
        _migrated(AFTER)
    voice = Voice.objects.get(name="chattts_3")
    assert material_unpack(bytes(voice.payload or b"")) == Seed(3)
    assert voice.digest != "0" * 64
    for other in Voice.objects.exclude(name="chattts_3"):
        assert bytes(other.payload or b"") == embedding(1)
