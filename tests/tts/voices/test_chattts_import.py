"""A ChatTTS checkpoint is imported whole, with voices and routes; a wrong one changes nothing."""

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from models_registry.batching import Batching
from models_registry.models import ModelVersion, Route
from models_registry.selectors import route_weights, version_spec_sync
from models_registry.services import (
    route_delete,
    route_set,
    speech_model_create,
    version_register,
)
from models_registry.storage import shard_store
from tests.tts.engines.chattts.damaged import Tensors, copied, rewrite
from tts.engine.errors import VersionUnavailable
from tts.engines.chattts.checkpoint import FILES
from tts.engines.chattts.manifest import chattts_manifest
from tts.engines.chattts.random_checkpoint import RandomCheckpoint, Size
from tts.engines.chattts.voice import Seed, material_unpack
from tts.engines.shards import LocalShards
from tts.errors import ModelImportFailed
from tts.models import Voice, VoiceOrigin
from tts.services import chattts_import, chattts_speak, tone_import
from tts.services.registering import manifest_read
from tts.voice_catalogue import OPENAI_NAMES

pytestmark = pytest.mark.django_db


def untold(line: str) -> None:
    """Random weights are not listened to: there is nothing to tell."""
    raise AssertionError(line)


def test_checkpoint_becomes_a_ready_version_with_voices(tiny: Path) -> None:
    imported = chattts_import(str(tiny), "1")
    assert (imported.key, imported.is_new) == ("chattts@1", True)
    assert imported.voices == tuple(f"chattts_{number}" for number in range(1, 9))
    assert ModelVersion.objects.get(key="chattts@1").state == "ready"
    assert not version_spec_sync("chattts@1").manifest.commercial_use
    voice = Voice.objects.get(name="chattts_3")
    assert material_unpack(bytes(voice.payload or b"")) == Seed(3)
    assert voice.origin == VoiceOrigin.SEED
    aliases = [alias for voice in Voice.objects.all() for alias in voice.aliases]
    assert sorted(aliases) == sorted(OPENAI_NAMES)


def test_two_versions_side_by_side(tiny: Path, tmp_path: Path) -> None:
    RandomCheckpoint(Size.TINY, seed=9).write(tmp_path)
    for folder, version in ((tiny, "1"), (tmp_path, "2"), (tiny, "3")):
        assert chattts_import(str(folder), version).is_new
    assert ModelVersion.objects.filter(model__name="chattts").count() == 3
    assert Voice.objects.filter(engine="chattts").count() == 8
    assert not chattts_import(str(tiny), "1").is_new
    with pytest.raises(ModelImportFailed, match="'chattts@1' is registered with other contents"):
        chattts_import(str(tmp_path), "1")


def test_speaking_with_it_is_one_step(tiny: Path) -> None:
    tone_import()
    said = chattts_speak(str(tiny), untold)
    key = ModelVersion.objects.get(model__name="chattts").key
    assert said == f"Speaking with {key} on chattts, tts-1, tts-1-hd."
    for name in ("tts-1", "tts-1-hd", "chattts"):
        assert route_weights(name) == {key: 100}
    assert str(Route.objects.get(name="tts-1-hd").default_tier) == "hq"


def test_later_starts_leave_the_routes_to_the_operator(tiny: Path) -> None:
    tone_import()
    chattts_speak(str(tiny), untold)
    key = ModelVersion.objects.get(model__name="chattts").key
    route_set("tts-1", {key: 10, "tone@1": 90}, "ada")
    route_set("tts-1-hd", {"tone@1": 100}, "ada")
    route_delete("chattts", "ada")
    assert chattts_speak(str(tiny), untold) == f"Speaking with {key} on tts-1."
    route_set("tts-1", {"tone@1": 100}, "ada")
    told = chattts_speak(str(tiny), untold)
    assert told.startswith(f"{key} is imported, and no route gives it weight: 'manage.py route_set")
    assert {name: route_weights(name) for name in ("tts-1", "tts-1-hd")} == {
        "tts-1": {"tone@1": 100},
        "tts-1-hd": {"tone@1": 100},
    }
    assert not Route.objects.filter(name="chattts").exists()


def test_another_version_brings_no_deleted_route_back(tiny: Path, tmp_path: Path) -> None:
    tone_import()
    chattts_speak(str(tiny), untold)
    route_delete("tts-1", "ada")
    RandomCheckpoint(Size.TINY, seed=9).write(tmp_path)
    speaking, gone = chattts_speak(str(tmp_path), untold).splitlines()
    assert speaking.endswith(" on chattts, tts-1-hd.")
    assert gone.startswith("Deleted routes stay away: tts-1.")
    assert not Route.objects.filter(name="tts-1").exists()


def test_the_same_bytes_are_no_other_version(tiny: Path) -> None:
    tone_import()
    chattts_import(str(tiny), "mine")
    told = chattts_speak(str(tiny), untold)
    assert told.startswith("chattts@mine is imported, and no route gives it weight")
    assert list(ModelVersion.objects.filter(model__name="chattts")) == [
        ModelVersion.objects.get(key="chattts@mine")
    ]


def _truncate(asset: Path) -> None:
    path = asset / "gpt/model.safetensors"
    path.write_bytes(path.read_bytes()[:-40])


def _remove(asset: Path) -> None:
    (asset / FILES[-1]).unlink()


def _reshape(asset: Path) -> None:
    def narrower(tensors: Tensors) -> None:
        name = "layers.1.mlp.down_proj.weight"
        tensors[name] = np.ascontiguousarray(tensors[name][:, :-1])

    rewrite(asset / "gpt/model.safetensors", narrower)


def _spoil(asset: Path) -> None:
    def infinite(tensors: Tensors) -> None:
        tensors["emb_text.weight"][7, 7] = np.inf

    rewrite(asset / "Embed.safetensors", infinite)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (_truncate, "gpt/model.safetensors: .* the file is truncated or damaged"),
        (_remove, "asset has no Vocos.safetensors"),
        (_reshape, r"has shape \[64, 127\], expected \[64, 128\]"),
        (_spoil, "Embed.safetensors: tensor 'emb_text.weight' has values"),
    ],
)
def test_damaged_checkpoint_changes_nothing(
    tiny: Path, tmp_path: Path, damage: Callable[[Path], None], said: str
) -> None:
    damage(copied(tiny, tmp_path / "c"))
    with pytest.raises(ModelImportFailed, match=said):
        chattts_speak(str(tmp_path / "c"), untold)
    assert not ModelVersion.objects.exists()
    assert not Voice.objects.exists()
    assert not Route.objects.exists()


def test_a_checkpoint_that_changes_after_its_import_is_another(tiny: Path, tmp_path: Path) -> None:
    asset = copied(tiny, tmp_path / "c")
    chattts_import(str(tmp_path / "c"), "1")
    path = asset / "Decoder.safetensors"
    original = path.read_bytes()
    content = bytearray(original)
    content[-3] ^= 1
    path.write_bytes(content)
    shards = LocalShards.of(version_spec_sync("chattts@1").manifest, shard_store().local)
    assert bytes(shards.read("decoder")) == original
    with pytest.raises(ModelImportFailed, match="registered with other contents"):
        chattts_import(str(tmp_path / "c"), "1")


def test_a_stored_shard_whose_bytes_changed_is_not_loaded(tiny: Path) -> None:
    chattts_import(str(tiny), "1")
    manifest = version_spec_sync("chattts@1").manifest
    (decoder,) = (shard for shard in manifest.shards if shard.name == "decoder")
    path = shard_store().local(decoder.sha256)
    original = path.read_bytes()
    path.chmod(0o600)
    try:
        path.write_bytes(original[:-1] + bytes([original[-1] ^ 1]))
        shards = LocalShards.of(manifest, shard_store().local)
        with pytest.raises(VersionUnavailable, match="shard 'decoder' of chattts@1 has sha256"):
            shards.read("decoder")
        # An import of the same files mends it.
        chattts_import(str(tiny), "2")
        assert bytes(shards.read("decoder")) == original
    finally:
        shard_store().delete(decoder.sha256)


def test_the_decoder_is_stored_by_groups_of_layers(tiny: Path) -> None:
    chattts_import(str(tiny), "1")
    shards = version_spec_sync("chattts@1").manifest.shards
    assert [shard.name for shard in shards if shard.name.startswith("gpt")] == ["gpt-00-01"]
    assert not list((settings.VAR_DIR / "imports").glob("chattts-*"))


def test_a_version_from_before_the_groups_stays_as_it_is(tiny: Path) -> None:
    old = manifest_read(chattts_manifest(tiny, "old").to_json())
    model = speech_model_create(name="chattts", engine="chattts")
    version_register(model=model, manifest=old, batching=Batching())

    imported = chattts_import(str(tiny))

    assert (imported.key, imported.is_new) == ("chattts@old", False)
    shards = version_spec_sync("chattts@old").manifest.shards
    assert [shard.sha256 for shard in shards] == [shard.sha256 for shard in old.shards]
    assert {source.split(":")[0] for shard in shards for source in shard.sources} == {
        "inline",
        "store",
    }


@pytest.mark.parametrize("place", ["/nowhere/at all", "nowhere", "a/b/c", "owner/na me"])
def test_places_that_are_none(place: str) -> None:
    with pytest.raises(ModelImportFailed, match=r"there is no folder .* hub id"):
        chattts_import(place)


def test_command_imports_it(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("model_import", "chattts", str(tiny), "--version", "v1")
    out = capsys.readouterr().out
    assert "chattts@v1: registered" in out
    assert "New voices: chattts_1, " in out
    for arguments, said in (
        (["chattts"], "needs the path of a checkpoint, or a hub id"),
        (["chattts", str(tiny), "--config", "{}"], "chattts has no settings"),
    ):
        with pytest.raises(CommandError, match=said):
            call_command("model_import", *arguments)


def test_command_imports_it_without_the_decoder(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (copied(tiny, tmp_path / "c") / "Decoder.safetensors").unlink()
    call_command("model_import", "chattts", str(tmp_path / "c"), "--version", "v1", "--dvae")
    assert "chattts@v1: registered" in capsys.readouterr().out
    names = [shard.name for shard in version_spec_sync("chattts@v1").manifest.shards]
    assert "dvae" in names
    assert "decoder" not in names
    with pytest.raises(CommandError, match=r"has no Decoder\.safetensors"):
        call_command("model_import", "chattts", str(tmp_path / "c"))
    with pytest.raises(CommandError, match="tone has no DVAE"):
        call_command("model_import", "tone", "--dvae")


@pytest.fixture
def prepare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], str]:
    """Run `prepare` with a value of CHATTTS; returns what it printed."""

    def run(place: str) -> str:
        environment = replace(settings.ENVIRONMENT, chattts=place)
        monkeypatch.setattr(settings, "ENVIRONMENT", environment)
        monkeypatch.setattr(settings, "VAR_DIR", tmp_path)
        monkeypatch.setattr(settings, "STATIC_ROOT", str(tmp_path / "static"))
        output = io.StringIO()
        call_command("prepare", stdout=output)
        return output.getvalue()

    return run


def test_first_start_says_how_to_bring_weights(tiny: Path, prepare: Callable[[str], str]) -> None:
    hint = "make run CHATTTS=PATH_OR_HUB_ID"
    first = prepare("")
    assert hint in first
    assert "CC BY-NC 4.0" in first
    assert hint not in prepare("")
    assert "requirements-recogniser.txt" in first
    said = prepare(str(tiny))
    assert "on chattts, tts-1, tts-1-hd." in said
    assert next(iter(route_weights("tts-1"))).startswith("chattts@")
    assert prepare("").startswith("Speaking with chattts@")
    with pytest.raises(CommandError, match="CHATTTS=/nowhere: there is no folder /nowhere"):
        prepare("/nowhere")
