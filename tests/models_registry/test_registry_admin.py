"""Operators edit routes and versions in the admin; viewers look."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from models_registry.models import ModelVersion, Route, RouteEvent
from models_registry.selectors import route_weights
from models_registry.services import route_create, route_set
from tests.models_registry.registering import VersionMaker

PAGES = ["speechmodel", "modelversion", "route", "routeevent"]


@pytest.fixture
def route(version_make: VersionMaker) -> Route:
    """Route tts-1, all of it on demo@1."""
    version_make("1")
    version_make("2")
    route_create(name="tts-1")
    route_set("tts-1", {"demo@1": 100}, "test")
    return Route.objects.get(name="tts-1")


def signed_in(name: str, *actions: str) -> Client:
    user = User.objects.create_user(name, is_staff=True)
    for action in actions:
        user.user_permissions.add(
            *Permission.objects.filter(
                content_type__app_label="models_registry", codename__startswith=f"{action}_"
            )
        )
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def operator(db: None) -> Client:
    """May view, add, change and delete."""
    return signed_in("operator", "view", "add", "change", "delete")


@pytest.fixture
def viewer(db: None) -> Client:
    """May view."""
    return signed_in("viewer", "view")


def page(name: str, *arguments: object) -> str:
    return reverse(f"admin:models_registry_{name}", args=arguments)


def form_of(route: Route, weights: dict[str, int], **changes: Any) -> dict[str, Any]:
    """What the change form would post."""
    rows = {row.version_id: row.pk for row in route.weights.all()}
    data: dict[str, Any] = {
        "description": route.description,
        "default_tier": route.default_tier_id or "",
        "is_public": "on",
        "note": "from the admin",
        "seen_revision": route.revision,
        "weights-TOTAL_FORMS": len(weights),
        "weights-INITIAL_FORMS": len(rows),
    }
    ordered = sorted(weights, key=lambda key: ModelVersion.objects.get(key=key).pk not in rows)
    for index, key in enumerate(ordered):
        version = ModelVersion.objects.get(key=key).pk
        data |= {
            f"weights-{index}-id": rows.get(version, ""),
            f"weights-{index}-route": route.pk,
            f"weights-{index}-version": version,
            f"weights-{index}-weight": weights[key],
        }
    return data | changes


def test_operator_sets_a_split(route: Route, operator: Client) -> None:
    change = page("route_change", route.pk)
    assert "100 %" in operator.get(change).content.decode()
    answer = operator.post(change, form_of(route, {"demo@1": 80, "demo@2": 20}))
    assert answer.status_code == 302
    assert route_weights("tts-1") == {"demo@1": 80, "demo@2": 20}
    event = RouteEvent.objects.first()
    assert event is not None
    assert (event.actor, event.note) == ("operator", "from the admin")
    assert "demo@1 80 % · demo@2 20 %" in operator.get(page("route_changelist")).content.decode()


def test_split_is_as_it_was_when_only_the_description_changes(
    route: Route, operator: Client
) -> None:
    data = form_of(route, {"demo@1": 100}, description="Fast")
    assert operator.post(page("route_change", route.pk), data).status_code == 302
    route.refresh_from_db()
    assert (route.description, route.revision) == ("Fast", 1)


@pytest.mark.parametrize(
    ("weights", "changes", "message"),
    [
        ({"demo@1": 0}, {}, "At least one version needs a weight above 0."),
        ({"demo@1": 10_001}, {}, "less than or equal to 10000"),
        ({"demo@1": 50, "demo@2": 50}, {"seen_revision": 0}, "Somebody else changed this route"),
        ({"demo@1": 100}, {"weights-0-DELETE": "on"}, "At least one version needs a weight"),
    ],
)
def test_wrong_split_is_shown_on_the_form(
    route: Route,
    operator: Client,
    weights: dict[str, int],
    changes: dict[str, Any],
    message: str,
) -> None:
    answer = operator.post(page("route_change", route.pk), form_of(route, weights, **changes))
    assert answer.status_code == 200
    assert message in answer.content.decode()
    assert route_weights("tts-1") == {"demo@1": 100}


def test_operator_makes_and_removes_a_route(route: Route, operator: Client) -> None:
    blank = Route(name="tts-2")
    data = {
        "name": "tts-2",
        "is_public": "on",
        "weights-TOTAL_FORMS": 1,
        "weights-INITIAL_FORMS": 0,
        "weights-0-version": ModelVersion.objects.get(key="demo@2").pk,
        "weights-0-weight": 1,
    }
    assert operator.get(page("route_add")).status_code == 200
    assert operator.post(page("route_add"), data).status_code == 302
    assert route_weights(blank.name) == {"demo@2": 1}
    made = Route.objects.get(name="tts-2")
    assert made.salt
    delete = page("route_delete", made.pk)
    assert operator.post(delete, {"post": "yes"}).status_code == 302
    assert RouteEvent.objects.filter(route_name="tts-2", kind="delete").exists()


def test_operator_rolls_back(route: Route, operator: Client) -> None:
    route_set("tts-1", {"demo@2": 1}, "test")
    data = {"action": "rollback_selected", "_selected_action": [route.pk]}
    answer = operator.post(page("route_changelist"), data, follow=True)
    assert "tts-1 is back to demo@1 100 %." in answer.content.decode()
    assert route_weights("tts-1") == {"demo@1": 100}
    answer = operator.post(page("route_changelist"), data, follow=True)
    assert "no earlier split" in answer.content.decode()


def test_operator_rolls_back_from_the_form_after_being_asked(
    route: Route, operator: Client
) -> None:
    route_set("tts-1", {"demo@2": 1}, "test")
    button = reverse("admin:models_registry_route_rollback_one", args=[route.pk])
    assert button in operator.get(page("route_change", route.pk)).content.decode()
    assert operator.get(button).status_code == 200
    assert route_weights("tts-1") == {"demo@2": 1}
    answer = operator.post(button, {"_form_submitted": "True"})
    assert answer.headers["HX-Redirect"] == page("route_change", route.pk)
    assert route_weights("tts-1") == {"demo@1": 100}


def test_operator_changes_batching_and_state(route: Route, operator: Client) -> None:
    version = ModelVersion.objects.get(key="demo@2")
    change = page("modelversion_change", version.pk)
    shown = operator.get(change).content.decode()
    assert "44136fa355b3678a" in shown  # the shard's hash
    assert "sample_rate" in shown  # the manifest
    data = {
        "state": "draining",
        "max_slots": 16,
        "max_batch": 4,
        "max_wait_ms": 10,
        "shards-TOTAL_FORMS": 0,
        "shards-INITIAL_FORMS": 0,
        "checks-TOTAL_FORMS": 0,
        "checks-INITIAL_FORMS": 0,
    }
    assert operator.post(change, data).status_code == 302
    version.refresh_from_db()
    assert (version.state, version.max_slots, version.max_wait_ms) == ("draining", 16, 10)
    answer = operator.post(change, {**data, "max_batch": 17})
    assert "max_batch must be 1 to 16" in answer.content.decode()


def test_state_cannot_jump(route: Route, operator: Client) -> None:
    version = ModelVersion.objects.get(key="demo@1")
    data = {
        "state": "retired",
        "max_slots": 8,
        "max_batch": 8,
        "max_wait_ms": 50,
        "shards-TOTAL_FORMS": 0,
        "shards-INITIAL_FORMS": 0,
        "checks-TOTAL_FORMS": 0,
        "checks-INITIAL_FORMS": 0,
    }
    answer = operator.post(page("modelversion_change", version.pk), data)
    assert "not one of the available choices" in answer.content.decode()
    version.refresh_from_db()
    assert version.state == "live"


def test_operator_describes_a_model(route: Route, operator: Client) -> None:
    model = ModelVersion.objects.get(key="demo@1").model
    form = {"description": "Tones", "versions-TOTAL_FORMS": 0, "versions-INITIAL_FORMS": 0}
    assert operator.post(page("speechmodel_change", model.pk), form).status_code == 302
    model.refresh_from_db()
    assert (model.name, model.description) == ("demo", "Tones")
    new = {**form, "name": "other", "engine": "tone"}
    assert operator.post(page("speechmodel_add"), new).status_code == 302


@pytest.mark.parametrize("name", PAGES)
def test_viewer_sees_every_list(route: Route, viewer: Client, name: str) -> None:
    assert viewer.get(page(f"{name}_changelist")).status_code == 200


def test_viewer_sees_and_changes_nothing(route: Route, viewer: Client) -> None:
    event = RouteEvent.objects.get()
    version = ModelVersion.objects.get(key="demo@1")
    for name, pk in (("route", route.pk), ("routeevent", event.pk), ("modelversion", version.pk)):
        assert viewer.get(page(f"{name}_change", pk)).status_code == 200
        assert viewer.post(page(f"{name}_change", pk), {}).status_code == 403
    data = {"action": "rollback_selected", "_selected_action": [route.pk]}
    viewer.post(page("route_changelist"), data)
    button = reverse("admin:models_registry_route_rollback_one", args=[route.pk])
    assert viewer.post(button, {"_form_submitted": "True"}).status_code == 403
    assert RouteEvent.objects.count() == 1


def test_history_is_nobodys_to_change(route: Route, operator: Client) -> None:
    event = RouteEvent.objects.get()
    assert operator.post(page("routeevent_change", event.pk), {}).status_code == 403
    assert operator.post(page("routeevent_delete", event.pk), {"post": "yes"}).status_code == 403
    assert operator.get(page("routeevent_add")).status_code == 403
