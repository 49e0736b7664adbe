"""Operators divide a route's traffic, see what was live when, and go back."""

from datetime import timedelta

import pytest
from auditlog.models import LogEntry
from pytest_django import DjangoCaptureOnCommitCallbacks

from models_registry.errors import RouteConflict, RouteInvalid, RouteNotFound, RouteSplitInvalid
from models_registry.models import Route, RouteEvent, RouteWeight
from models_registry.selectors import route_weights, route_weights_at, versions_with_weight_sync
from models_registry.services import (
    route_create,
    route_delete,
    route_rollback,
    route_set,
    route_update,
)
from models_registry.split import buckets_owned
from models_registry.states import VersionState
from tenants.models import QualityTier
from tests.models_registry.registering import VersionMaker


@pytest.fixture
def route(version_make: VersionMaker) -> Route:
    """A route, and versions demo@1 to demo@3."""
    for label in "123":
        version_make(label)
    return route_create(name="tts-1", description="Speech")


def shares(name: str = "tts-1") -> dict[str, int]:
    owners = Route.objects.get(name=name).owners
    return {key: buckets_owned(runs) for key, runs in owners.items()}


def test_split_is_set_and_written_down(route: Route) -> None:
    event = route_set("tts-1", {"demo@2": 10, "demo@1": 90}, "ada", "canary")
    assert route_weights("tts-1") == {"demo@1": 90, "demo@2": 10}
    assert shares() == {"demo@1": 9000, "demo@2": 1000}
    assert (event.actor, event.note, event.before) == ("ada", "canary", {})
    assert event.after == {"demo@1": 90, "demo@2": 10}
    assert [spec.key for spec in versions_with_weight_sync()] == ["demo@1", "demo@2"]


def test_versions_that_are_left_out_lose_their_weight(route: Route) -> None:
    route_set("tts-1", {"demo@1": 1}, "ada")
    route_set("tts-1", {"demo@2": 1}, "ada")
    assert route_weights("tts-1") == {"demo@2": 1}
    assert shares() == {"demo@2": 10_000}


def test_state_follows_the_weight(route: Route, version_make: VersionMaker) -> None:
    route_set("tts-1", {"demo@1": 1, "demo@2": 0}, "ada")
    states = {
        row.version.key: row.version.state for row in RouteWeight.objects.select_related("version")
    }
    assert states == {"demo@1": "live", "demo@2": "ready"}
    other = route_create(name="other")
    route_set(other.name, {"demo@1": 1}, "ada")
    route_set("tts-1", {"demo@2": 1}, "ada")
    one = RouteWeight.objects.get(route=other).version
    assert one.state == VersionState.LIVE  # the other route still uses it


def test_change_is_announced_after_the_commit(
    route: Route,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    with django_capture_on_commit_callbacks() as callbacks:
        route_set("tts-1", {"demo@1": 1}, "ada")
    assert callbacks


def test_weights_are_audited(route: Route) -> None:
    route_set("tts-1", {"demo@1": 90}, "ada")
    route_set("tts-1", {"demo@1": 80}, "ada")
    row = RouteWeight.objects.get()
    changes = [entry.changes.get("weight") for entry in LogEntry.objects.get_for_object(row)]
    assert ["90", "80"] in changes


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({}, "At least one version needs a weight above 0."),
        ({"demo@1": 0}, "At least one version needs a weight above 0."),
        ({"demo@1": -1}, "must be 0 to 10000, not -1"),
        ({"demo@1": 10_001}, "must be 0 to 10000, not 10001"),
        ({"demo@1": 0.5}, "must be a whole number, not 0.5"),
        ({"demo@1": True}, "must be a whole number, not True"),
        ({"demo@9": 1}, "no version 'demo@9'; known: demo@1, demo@2, demo@3."),
        ({"bad@1": 1}, "Version 'bad@1' is failed"),
        ({"old@1": 1}, "Version 'old@1' is retired"),
    ],
)
def test_wrong_split_is_refused_whole(
    route: Route, version_make: VersionMaker, weights: dict[str, int], message: str
) -> None:
    if "known" not in message:
        version_make("1", model="bad", state=VersionState.FAILED)
        version_make("1", model="old", state=VersionState.RETIRED)
    with pytest.raises(RouteSplitInvalid) as caught:
        route_set("tts-1", {"demo@2": 0, **weights} if weights else {}, "ada")
    assert message in caught.value.message
    assert not RouteEvent.objects.exists()
    assert route_weights("tts-1") == {}


def test_every_problem_is_said_at_once(route: Route) -> None:
    with pytest.raises(RouteSplitInvalid) as caught:
        route_set("tts-1", {"demo@1": -1, "demo@9": 1}, "ada")
    assert len(caught.value.problems) == 2


def test_unknown_route_names_those_there_are(route: Route) -> None:
    for call in (
        lambda: route_set("tts-9", {"demo@1": 1}, "ada"),
        lambda: route_weights("tts-9"),
        lambda: route_rollback("tts-9", "ada"),
    ):
        with pytest.raises(RouteNotFound, match=r"'tts-9' does not exist; available: tts-1"):
            call()


def test_stale_change_is_refused(route: Route) -> None:
    route_set("tts-1", {"demo@1": 1}, "ada", expected_revision=0)
    with pytest.raises(RouteConflict):
        route_set("tts-1", {"demo@2": 1}, "bob", expected_revision=0)
    assert route_weights("tts-1") == {"demo@1": 1}


def test_rollback_goes_back_step_by_step(route: Route) -> None:
    for weights in ({"demo@1": 1}, {"demo@1": 9, "demo@2": 1}, {"demo@3": 1}):
        route_set("tts-1", weights, "ada")
    event = route_rollback("tts-1", "bob", "3 is bad")
    assert (event.kind, event.after) == ("rollback", {"demo@1": 9, "demo@2": 1})
    assert route_weights("tts-1") == {"demo@1": 9, "demo@2": 1}
    route_rollback("tts-1", "bob")
    assert route_weights("tts-1") == {"demo@1": 1}
    with pytest.raises(RouteInvalid, match="no earlier split"):
        route_rollback("tts-1", "bob")
    route_set("tts-1", {"demo@2": 1}, "ada")
    route_rollback("tts-1", "bob")
    assert route_weights("tts-1") == {"demo@1": 1}


def test_rollback_brings_callers_back_to_where_they_were(route: Route) -> None:
    route_set("tts-1", {"demo@1": 90, "demo@2": 10}, "ada")
    before = Route.objects.get(name="tts-1").owners
    route_set("tts-1", {"demo@1": 50, "demo@2": 50}, "ada")
    route_rollback("tts-1", "ada")
    assert Route.objects.get(name="tts-1").owners == before


def test_history_says_what_was_live_at_a_time(route: Route) -> None:
    first = route_set("tts-1", {"demo@1": 1}, "ada")
    second = route_set("tts-1", {"demo@2": 1}, "ada")
    moment = timedelta(microseconds=1)
    RouteEvent.objects.filter(pk=second.pk).update(at=first.at + timedelta(hours=1))
    assert route_weights_at("tts-1", first.at - moment) == {}
    assert route_weights_at("tts-1", first.at + timedelta(minutes=1)) == {"demo@1": 1}
    assert route_weights_at("tts-1", first.at + timedelta(hours=2)) == {"demo@2": 1}


def test_history_outlives_the_route(route: Route) -> None:
    route_set("tts-1", {"demo@1": 1}, "ada")
    route_delete("tts-1", "bob", "unused")
    assert not Route.objects.exists()
    newest = RouteEvent.objects.first()
    assert newest is not None
    assert (newest.route_name, newest.kind, newest.after) == ("tts-1", "delete", {})
    assert versions_with_weight_sync() == ()


def test_route_is_described_anew(route: Route) -> None:
    hq = QualityTier.objects.get(name="hq")
    route_update("tts-1", description="New", default_tier_id=hq.pk, is_public=False)
    route.refresh_from_db()
    assert (route.description, route.default_tier, route.is_public) == ("New", hq, False)


@pytest.mark.parametrize("name", ["", "a b", "../x", "tts-1", "x" * 65])
def test_malformed_or_taken_name_is_refused(route: Route, name: str) -> None:
    with pytest.raises(RouteInvalid):
        route_create(name=name)
