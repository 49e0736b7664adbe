"""Models are imported from verified bytes, with voices, and again without harm."""

import json
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest
from asgiref.sync import async_to_sync
from django.core.management import CommandError, call_command

from coordination.epoch import ConfigCache
from models_registry.batching import Batching
from models_registry.models import ModelVersion, Route, RouteEvent
from models_registry.selectors import models_listed, route, route_weights, version_spec_sync
from models_registry.services import (
    route_create,
    route_delete,
    route_set,
    speech_model_create,
    version_register,
)
from models_registry.storage import shard_store
from tests.requirement import missing
from tts.engines.kokoro import manifest as kokoro
from tts.engines.shards import LocalShards, ShardSpec
from tts.errors import ModelImportFailed
from tts.models import Voice
from tts.selectors import voice_resolve
from tts.services import kokoro_import, model_import_bundled, tone_import
from tts.services.registering import manifest_read
from tts.voice_catalogue import OPENAI_NAMES

REASON = "the bundled voices need hibari-tts, which is not installed"
ROUTES = ["gpt-4o-mini-tts", "kokoro", "tone", "tts-1", "tts-1-hd"]


@pytest.fixture
def small_kokoro(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bundled Kokoro that is there, without its 92 MB: vocabulary and voice packs only."""
    monkeypatch.setattr(kokoro, "bundled_available", lambda: None)
    whole = kokoro.bundled_manifest
    shards = (kokoro.VOCABULARY, kokoro.VOICES)

    def small() -> kokoro.KokoroManifest:
        found = whole()
        return kokoro.KokoroManifest(found.version, shards, found.speakers, found.source)

    monkeypatch.setattr(kokoro, "bundled_manifest", small)


@pytest.fixture
def no_kokoro(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bundled voices are not installed."""
    monkeypatch.setattr(kokoro, "bundled_available", lambda: REASON)


@pytest.mark.usefixtures("db", "small_kokoro")
def test_bundled_kokoro_becomes_a_ready_version_with_voices() -> None:
    imported = kokoro_import()
    assert (imported.key, imported.is_new) == ("kokoro@1.0", True)
    assert len(imported.voices) == 8
    version = ModelVersion.objects.get(key="kokoro@1.0")
    assert version.state == "ready"
    assert {shard.name for shard in version.shards.all()} == {"vocab", "voices"}
    spec = version_spec_sync("kokoro@1.0")
    assert spec.engine == "kokoro"
    assert spec.manifest.commercial_use
    assert "af_heart" in spec.manifest.speakers


@pytest.mark.usefixtures("db", "small_kokoro")
def test_importing_again_changes_nothing() -> None:
    kokoro_import()
    again = kokoro_import()
    assert (again.is_new, again.voices) == (False, ())
    assert ModelVersion.objects.count() == 1


@pytest.mark.usefixtures("db", "small_kokoro")
def test_wrong_bytes_are_not_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    found = kokoro.bundled_manifest()
    wrong = ShardSpec("vocab", "preprocess", kokoro.VOCABULARY.sources, 1155, "0" * 64)
    monkeypatch.setattr(
        kokoro,
        "bundled_manifest",
        lambda: kokoro.KokoroManifest("1.0", (wrong,), found.speakers, found.source),
    )
    with pytest.raises(ModelImportFailed, match=r"shard 'vocab' of kokoro@1\.0 has sha256"):
        kokoro_import()
    assert not ModelVersion.objects.exists()
    assert not Voice.objects.exists()


@pytest.mark.usefixtures("db")
def test_tone_carries_its_settings_in_a_shard() -> None:
    tone_import("slow", {"cost_ms": 5, "sample_rate": 16_000})
    manifest = version_spec_sync("tone@slow").manifest
    assert manifest.sample_rate == 16_000
    assert [shard.name for shard in manifest.shards] == ["config"]
    with pytest.raises(ModelImportFailed, match="registered with other contents"):
        tone_import("slow", {"cost_ms": 6})


@pytest.mark.usefixtures("db")
@pytest.mark.parametrize(
    ("version", "config", "message"),
    [
        ("1", {"cost": 5}, "'cost' is not one of"),
        ("1", {"mode": "odd"}, "mode must be step or utterance"),
        ("a b", {}, "version: expected"),
    ],
)
def test_wrong_tone_is_refused(version: str, config: dict[str, object], message: str) -> None:
    with pytest.raises(ModelImportFailed, match=message):
        tone_import(version, config)
    assert not ModelVersion.objects.exists()


@pytest.mark.usefixtures("small_kokoro")
def test_first_start_has_a_model_that_speaks(db: None, cache: ConfigCache) -> None:
    assert model_import_bundled() == "Speaking with kokoro@1.0."
    assert [model.name for model in async_to_sync(models_listed)()] == ROUTES
    tiers = dict(Route.objects.values_list("name", "default_tier__name"))
    assert tiers["tts-1"] == "realtime"
    assert tiers["tts-1-hd"] == "hq"
    assert {tiers["gpt-4o-mini-tts"], tiers["kokoro"]} == {None}
    for name in ROUTES:
        routed = async_to_sync(route)(name, "key", cache=cache)
        assert routed.engine == ("tone" if name == "tone" else "kokoro")
        for voice in OPENAI_NAMES:
            spec = async_to_sync(voice_resolve)(
                voice, tenant_id=None, engine=routed.engine, cache=cache
            )
            assert spec.engine == routed.engine


@pytest.mark.usefixtures("db", "small_kokoro")
def test_every_start_is_as_the_first() -> None:
    model_import_bundled()
    events = RouteEvent.objects.count()
    assert model_import_bundled() == "Speaking with kokoro@1.0."
    assert RouteEvent.objects.count() == events


@pytest.mark.usefixtures("db", "small_kokoro")
def test_a_deleted_route_stays_away() -> None:
    model_import_bundled()
    route_delete("tts-1", "ada")
    route_delete("tone", "ada")
    assert model_import_bundled() == "Speaking with kokoro@1.0."
    assert not Route.objects.filter(name__in=["tts-1", "tone"]).exists()
    # Made anew, it is whoever made it that gives it weights.
    route_create(name="tts-1")
    model_import_bundled()
    assert route_weights("tts-1") == {}


@pytest.mark.usefixtures("db", "no_kokoro")
def test_without_the_bundled_voices_it_starts_on_tone_and_says_so() -> None:
    line = model_import_bundled()
    assert line == f"Speaking in tones (tone@1): {REASON}."
    assert route_weights("tts-1") == {"tone@1": 100}
    assert not Route.objects.filter(name="kokoro").exists()


@pytest.mark.usefixtures("db")
def test_kokoro_takes_over_from_tone_where_nobody_chose_it(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    with monkeypatch.context() as without:
        without.setattr(kokoro, "bundled_available", lambda: REASON)
        model_import_bundled()
    route_set("tts-1-hd", {"tone@1": 1}, "ada")
    request.getfixturevalue("small_kokoro")
    model_import_bundled()
    assert route_weights("tts-1") == {"kokoro@1.0": 100}
    assert route_weights("tts-1-hd") == {"tone@1": 1}
    assert route_weights("tone") == {"tone@1": 100}


@pytest.mark.usefixtures("db", "small_kokoro")
def test_command_says_what_it_did(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("model_import", "kokoro")
    out = capsys.readouterr().out
    assert "kokoro@1.0: registered" in out
    assert "New voices: af_heart" in out
    call_command("model_import", "kokoro")
    assert "is registered already" in capsys.readouterr().out
    config = json.dumps({"cost_ms": 1})
    call_command("model_import", "tone", "--version", "slow", "--config", config)
    assert "tone@slow: registered" in capsys.readouterr().out
    call_command("model_import", "kokoro", "--version", "1.1")
    assert "kokoro@1.1: registered" in capsys.readouterr().out


@pytest.mark.usefixtures("db")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["kokoro", "/nowhere"], "there is no folder /nowhere"),
        (["tone", "/nowhere"], "tone has no files"),
        (["kokoro", "--config", "{}"], "kokoro has no settings"),
        (["tone", "--config", "[]"], "invalid _config value"),
        (["tone", "--config", "{"], "invalid _config value"),
        (["espeak"], "invalid choice"),
    ],
)
def test_command_explains_wrong_arguments(arguments: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        call_command("model_import", *arguments)


@pytest.mark.usefixtures("db")
def test_imported_files_are_in_the_store_and_no_longer_needed(tmp_path: Path) -> None:
    name = "kokoro-v1.0.onnx"
    assets = Path(kokoro.__file__).parent / "assets"
    for folder in (tmp_path / "old", tmp_path / "new"):
        folder.mkdir()
        (folder / name).write_bytes(b"not a real model, and nobody loads it here")
        (folder / "voices-v1.0.npz").write_bytes((assets / "voices.npz").read_bytes())
    if find_spec("hibari") is None:
        missing("hibari-tts, whose distilled voice goes with the official files")
    kokoro_import(tmp_path / "old")
    shutil.rmtree(tmp_path / "old")
    assert kokoro_import(tmp_path / "new").is_new is False
    shutil.rmtree(tmp_path / "new")
    manifest = version_spec_sync("kokoro@1.0-official").manifest
    full = next(shard for shard in manifest.shards if shard.name == "full")
    assert full.sources == (f"store:{full.sha256}",)
    content = LocalShards.of(manifest, shard_store().local).read("full")
    assert bytes(content) == b"not a real model, and nobody loads it here"


@pytest.mark.usefixtures("db")
def test_versions_from_before_the_store_are_taken_into_it(tmp_path: Path) -> None:
    assets = Path(kokoro.__file__).parent / "assets"
    (tmp_path / "kokoro-v1.0.onnx").write_bytes(b"not a real model either")
    (tmp_path / "voices-v1.0.npz").write_bytes((assets / "voices.npz").read_bytes())
    if find_spec("hibari") is None:
        missing("hibari-tts, whose distilled voice goes with the official files")
    found = kokoro.official_manifest(tmp_path)
    old = manifest_read(found.to_json())
    model = speech_model_create(name="kokoro", engine="kokoro")
    version_register(model=model, manifest=old, batching=Batching())

    assert not kokoro_import(tmp_path).is_new

    shards = version_spec_sync("kokoro@1.0-official").manifest.shards
    assert [shard.sha256 for shard in shards] == [shard.sha256 for shard in old.shards]
    assert sum(source.startswith("store:") for shard in shards for source in shard.sources) == 2
