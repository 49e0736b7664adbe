"""Versions are registered from a manifest, change state by compare-and-set, keep settings."""

import pytest
from auditlog.models import LogEntry
from django.db import IntegrityError, transaction

from models_registry.batching import Batching
from models_registry.errors import (
    BatchingInvalid,
    ModelInvalid,
    VersionNotFound,
    VersionStateConflict,
)
from models_registry.models import ModelVersion
from models_registry.selectors import version_spec_sync
from models_registry.services import (
    route_create,
    route_set,
    speech_model_create,
    version_batching_set,
    version_register,
    version_transition,
)
from models_registry.states import VersionState
from tests.models_registry.registering import VersionMaker, manifest_of


def test_version_is_registered_with_its_shards(db: None) -> None:
    model = speech_model_create(name="demo", engine="tone", description="Tones")
    version = version_register(
        model=model, manifest=manifest_of(version="1.0"), batching=Batching(16, 4, 0)
    )
    assert version.key == "demo@1.0"
    assert version.state == VersionState.DRAFT
    shard = version.shards.get()
    assert (shard.name, shard.role, shard.size_bytes) == ("config", "preprocess", 2)
    spec = version_spec_sync("demo@1.0")
    assert spec.engine == "tone"
    assert spec.manifest == manifest_of(version="1.0")
    assert spec.batching == Batching(16, 4, 0)


def test_same_version_twice_is_refused(version_make: VersionMaker) -> None:
    version_make("1")
    with pytest.raises(ModelInvalid):
        version_make("1")


def test_manifest_of_another_engine_is_refused(db: None) -> None:
    model = speech_model_create(name="demo", engine="tone")
    with pytest.raises(ModelInvalid, match=r"spoken by engine 'tone'.*for 'kokoro'"):
        version_register(model=model, manifest=manifest_of(engine="kokoro"))


@pytest.mark.parametrize("name", ["", "a b", "a@b", "demo"])
def test_malformed_or_taken_model_name_is_refused(db: None, name: str) -> None:
    speech_model_create(name="demo", engine="tone")
    with pytest.raises(ModelInvalid):
        speech_model_create(name=name, engine="tone")


def test_unknown_version_is_named(db: None) -> None:
    with pytest.raises(VersionNotFound, match="'nothing@1'"):
        version_spec_sync("nothing@1")
    with pytest.raises(VersionNotFound, match="'nothing@1'"):
        version_batching_set("nothing@1", Batching())


def test_state_moves_on(version_make: VersionMaker) -> None:
    version = version_make("1", state=VersionState.DRAFT)
    version_transition(version, VersionState.DRAFT, VersionState.VERIFIED)
    version_transition(version, VersionState.VERIFIED, VersionState.FAILED, reason="no memory")
    version.refresh_from_db()
    assert (version.state, version.failure_reason) == ("failed", "no memory")
    version_transition(version, VersionState.FAILED, VersionState.DRAFT)
    version.refresh_from_db()
    assert (version.state, version.failure_reason) == ("draft", "")
    log = LogEntry.objects.get_for_object(version)
    assert any(entry.changes.get("state") == ["draft", "verified"] for entry in log)


def test_late_transition_loses(version_make: VersionMaker) -> None:
    version = version_make("1")
    stale = ModelVersion.objects.get(pk=version.pk)
    version_transition(version, VersionState.READY, VersionState.DRAINING)
    with pytest.raises(VersionStateConflict, match="is 'draining', no longer 'ready'"):
        version_transition(stale, VersionState.READY, VersionState.RETIRED)


def test_states_do_not_follow_at_will(version_make: VersionMaker) -> None:
    version = version_make("1")
    with pytest.raises(VersionStateConflict, match="may be followed by draining, failed"):
        version_transition(version, VersionState.READY, VersionState.DRAFT)
    with pytest.raises(VersionStateConflict, match="followed by nothing"):
        version_transition(version, VersionState.RETIRED, VersionState.READY)


def test_version_with_weight_is_not_retired(version_make: VersionMaker) -> None:
    version = version_make("1")
    route_create(name="tts-1")
    route_set("tts-1", {version.key: 1}, "test")
    version_transition(version, VersionState.LIVE, VersionState.DRAINING)
    with pytest.raises(VersionStateConflict, match="has weight on a route"):
        version_transition(version, VersionState.DRAINING, VersionState.RETIRED)


def test_batching_is_changed(version_make: VersionMaker) -> None:
    version_make("1")
    version_batching_set("demo@1", Batching(32, 16, 20))
    assert version_spec_sync("demo@1").batching == Batching(32, 16, 20)


@pytest.mark.parametrize(
    ("numbers", "param"),
    [
        ((0, 1, 0), "max_slots"),
        ((1025, 1, 0), "max_slots"),
        ((8, 9, 0), "max_batch"),
        ((8, 0, 0), "max_batch"),
        ((8, 8, -1), "max_wait_ms"),
        ((8, 8, 1001), "max_wait_ms"),
    ],
)
def test_batching_out_of_range_is_named(numbers: tuple[int, int, int], param: str) -> None:
    with pytest.raises(BatchingInvalid) as caught:
        Batching(*numbers)
    assert caught.value.param == param
    assert param in caught.value.message


@pytest.mark.parametrize(
    "change",
    [{"max_slots": 0}, {"max_batch": 9}, {"max_wait_ms": 1001}, {"state": "odd"}],
)
def test_database_holds_the_ranges_too(
    version_make: VersionMaker, change: dict[str, object]
) -> None:
    version = version_make("1")
    with pytest.raises(IntegrityError), transaction.atomic():
        ModelVersion.objects.filter(pk=version.pk).update(**change)
