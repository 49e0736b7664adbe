"""The admin lets each role do its part, shows a secret once, and logs who changed what."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from auditlog.models import LogEntry
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from tenants.hashing import secret_digest
from tenants.models import ApiKey, QualityTier, Tenant
from tenants.roles import ROLES, roles_sync

Issue = Callable[..., tuple[ApiKey, str]]
CHANGELISTS = ["tenants_tenant", "tenants_apikey", "tenants_qualitytier", "auth_user",
               "auth_group", "auditlog_logentry"]  # fmt: skip
KEY_FORM = {"name": "shop", "scopes": ["speech"], "expires_at_0": "", "expires_at_1": ""}


@pytest.fixture
def sign_in(seeded: None, settings: Settings) -> Callable[[str], Client]:
    """A browser of a member of a role ("superuser" for one)."""
    settings.WHITENOISE_AUTOREFRESH = True  # there are no collected static files

    def sign_in(role: str) -> Client:
        user = User.objects.create_user(
            role.replace(" ", "-"), is_staff=True, is_superuser=role == "superuser"
        )
        if role != "superuser":
            roles_sync()
            user.groups.add(Group.objects.get(name=role))
        client = Client()
        client.force_login(user)
        return client

    return sign_in


def post(client: Client, name: str, data: dict[str, Any], *args: object) -> Any:
    return client.post(reverse(f"admin:{name}", args=args), data)


def tier_data(tier: QualityTier, **changes: Any) -> dict[str, Any]:
    fields = ("name", "rank", "priority", "profile", "concurrency", "requests_per_minute",
              "characters_per_minute", "max_characters", "max_queue_seconds")  # fmt: skip
    return {field: getattr(tier, field) for field in fields} | {"allowed_models": ""} | changes


@pytest.mark.parametrize("role", ["superuser", *ROLES])
def test_every_role_sees_every_list(
    sign_in: Callable[[str], Client], issue: Issue, role: str
) -> None:
    issue()
    client = sign_in(role)
    for name in CHANGELISTS:
        assert client.get(reverse(f"admin:{name}_changelist")).status_code == 200, name
    for model in (Tenant, ApiKey, QualityTier):
        found = model.objects.first()
        assert found is not None
        url = reverse(f"admin:tenants_{model._meta.model_name}_change", args=[found.pk])
        assert client.get(url).status_code == 200


@pytest.mark.parametrize(
    ("role", "tenants", "tiers", "users"),
    [
        ("viewer", False, False, False),
        ("operator", False, False, False),
        ("tenant manager", True, False, False),
        ("owner", True, True, True),
    ],
)
def test_role_changes_its_part_only(
    sign_in: Callable[[str], Client], tenant: Tenant, role: str,
    tenants: bool, tiers: bool, users: bool,
) -> None:  # fmt: skip
    client = sign_in(role)
    renamed = post(
        client, "tenants_tenant_change",
        {"name": "Renamed", "slug": "acme", "is_active": "on"}, tenant.pk,
    )  # fmt: skip
    assert renamed.status_code == (302 if tenants else 403)
    assert Tenant.objects.get().name == ("Renamed" if tenants else "Acme")
    tier = QualityTier.objects.get(name="hq")
    changed = post(client, "tenants_qualitytier_change", tier_data(tier, concurrency=3), tier.pk)
    assert changed.status_code == (302 if tiers else 403)
    assert QualityTier.objects.get(name="hq").concurrency == (3 if tiers else 4)
    issued = post(client, "tenants_apikey_add", KEY_FORM | {"tenant": tenant.pk, "tier": tier.pk})
    assert issued.status_code == (200 if tenants else 403)
    assert ApiKey.objects.exists() == tenants
    assert client.get(reverse("admin:auth_user_add")).status_code == (200 if users else 403)


def test_nobody_changes_the_audit_log_or_deletes_tenants_and_keys(
    sign_in: Callable[[str], Client], issue: Issue
) -> None:
    key, _ = issue()
    client = sign_in("superuser")
    entry = LogEntry.objects.filter(object_pk=str(key.pk)).first()
    assert entry is not None
    for name, pk in (
        ("auditlog_logentry", entry.pk),
        ("tenants_apikey", key.pk),
        ("tenants_tenant", key.tenant_id),
    ):
        assert post(client, f"{name}_delete", {"post": "yes"}, pk).status_code == 403
    assert client.get(reverse("admin:auditlog_logentry_add")).status_code == 403


def test_issued_secret_is_shown_on_one_page_and_never_again(
    sign_in: Callable[[str], Client], tenant: Tenant
) -> None:
    client = sign_in("tenant manager")
    tier = QualityTier.objects.get(name="standard")
    page = post(client, "tenants_apikey_add", KEY_FORM | {"tenant": tenant.pk, "tier": tier.pk})
    found = re.search(r"vh_[a-z0-9]{8}_[\w-]{43}", page.content.decode())
    assert found is not None
    secret = found[0]
    assert "no-store" in page["Cache-Control"]
    key = ApiKey.objects.get(digest=secret_digest(secret))
    assert (key.name, key.scopes) == ("shop", ["speech"])
    assert secret not in str(client.cookies)
    assert secret not in str(dict(client.session))
    for url in (
        reverse("admin:tenants_apikey_changelist"),
        reverse("admin:tenants_apikey_change", args=[key.pk]),
        reverse("admin:tenants_apikey_history", args=[key.pk]),
    ):
        later = client.get(url).content.decode()
        assert key.prefix in later
        assert secret not in later
        assert key.digest not in later


@pytest.mark.parametrize("from_list", [True, False])
def test_keys_are_rotated_and_revoked_once_a_person_has_said_yes(
    sign_in: Callable[[str], Client], issue: Issue, tenant: Tenant, from_list: bool
) -> None:
    first, _ = issue(name="first")
    client = sign_in("tenant manager")

    def press(action: str, key: ApiKey, **more: str) -> Any:
        if from_list:
            data = {"action": action, "_selected_action": [str(key.pk)], **more}
            return post(client, "tenants_apikey_changelist", data)
        return post(client, f"tenants_apikey_{action}_one", more, key.pk)

    asked = press("rotate", first).content.decode()
    assert first.prefix in asked
    assert not ApiKey.objects.exclude(revoked_at=None).exists()
    page = press("rotate", first, confirmed="yes")
    (secret,) = re.findall(r"vh_[a-z0-9]{8}_[\w-]{43}", page.content.decode())
    first.refresh_from_db()
    assert first.revoked_at is not None
    second = ApiKey.objects.get(digest=secret_digest(secret))
    assert second.name == "first"
    assert "for good" in press("revoke", second).content.decode()
    assert press("revoke", second, confirmed="yes").status_code == 302
    assert not ApiKey.objects.filter(revoked_at=None).exists()
    history = client.get(reverse("admin:tenants_apikey_history", args=[second.pk]))
    assert "Revoked." in history.content.decode()


def test_viewer_cannot_run_actions(sign_in: Callable[[str], Client], issue: Issue) -> None:
    key, _ = issue()
    client = sign_in("viewer")
    for action in ("revoke", "rotate"):
        yes = {"action": action, "_selected_action": [str(key.pk)], "confirmed": "yes"}
        post(client, "tenants_apikey_changelist", yes)
        assert post(client, f"tenants_apikey_{action}_one", yes, key.pk).status_code == 403
    key.refresh_from_db()
    assert key.revoked_at is None
    assert ApiKey.objects.count() == 1


@pytest.mark.parametrize("address", ["zzz", "9" * 30, "%00"])
def test_an_address_of_no_key_leads_back(sign_in: Callable[[str], Client], address: str) -> None:
    response = sign_in("owner").get(f"/admin/tenants/apikey/{address}/change/")
    assert response.status_code in {302, 404}


def test_admin_changes_make_a_new_epoch_and_are_logged_with_who(
    sign_in: Callable[[str], Client], tenant: Tenant, redis_url: str
) -> None:
    import redis

    client = sign_in("owner")
    tier = QualityTier.objects.get(name="hq")
    with redis.Redis.from_url(redis_url) as connection:
        before = connection.get("vh:epoch")
        data = tier_data(tier, max_characters=9, allowed_models="tone\n\n kokoro \n")
        assert post(client, "tenants_qualitytier_change", data, tier.pk).status_code == 302
        assert connection.get("vh:epoch") != before
    tier.refresh_from_db()
    assert (tier.max_characters, tier.allowed_models) == (9, ["tone", "kokoro"])
    entry = LogEntry.objects.get_for_object(tier).first()
    assert entry is not None
    assert entry.actor.username == "owner"
    assert entry.changes["max_characters"] == ["20000", "9"]


def test_audit_log_has_no_secret_digest_or_password(issue: Issue) -> None:
    key, secret = issue()
    User.objects.create_user("eve", password="correct horse")
    logged = repr(list(LogEntry.objects.values()))
    assert key.prefix in logged
    assert secret[12:] not in logged
    assert key.digest not in logged
    assert User.objects.get(username="eve").password not in logged


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"concurrency": "0"}, "concurrency must be from 1"),
        ({"rank": "10"}, "already exists"),
        ({"max_queue_seconds": "x"}, "Enter a number"),
    ],
)
def test_bad_input_is_shown_on_the_form(
    sign_in: Callable[[str], Client], changes: dict[str, str], message: str
) -> None:
    client = sign_in("owner")
    tier = QualityTier.objects.get(name="hq")
    page = post(client, "tenants_qualitytier_change", tier_data(tier, **changes), tier.pk)
    assert page.status_code == 200
    assert message in page.content.decode()


def test_past_end_and_deactivated_tenant_are_shown_on_the_form(
    sign_in: Callable[[str], Client], tenant: Tenant
) -> None:
    client = sign_in("owner")
    Tenant.objects.update(is_active=False)
    tier = QualityTier.objects.get(name="hq")
    data = KEY_FORM | {"tenant": tenant.pk, "tier": tier.pk}
    data |= {"expires_at_0": "2020-01-01", "expires_at_1": "00:00:00"}
    page = post(client, "tenants_apikey_add", data)
    assert page.status_code == 200
    assert "must be in the future" in page.content.decode()
    assert "deactivated" in page.content.decode()
    assert not ApiKey.objects.exists()


def test_owner_makes_nobody_superuser(sign_in: Callable[[str], Client]) -> None:
    root = User.objects.create_superuser("root", password="x")
    plain = User.objects.create_user("plain")
    client = sign_in("owner")
    page = client.get(reverse("admin:auth_user_change", args=[plain.pk])).content.decode()
    assert 'name="is_superuser"' not in page
    assert 'name="is_staff"' in page
    answer = post(client, "auth_user_change", {"username": "mine"}, root.pk)
    assert answer.status_code == 403
    password = reverse("admin:auth_user_password_change", args=[root.pk])
    assert client.get(password).status_code == 403


def user_data(user: User, **changes: str) -> dict[str, str]:
    kept = {"username": user.username, "is_active": "on", "is_staff": "on", "is_superuser": "on"}
    return {name: value for name, value in (kept | changes).items() if value}


def test_a_superuser_changes_another_one_and_his_own_name(sign_in: Callable[[str], Client]) -> None:
    client = sign_in("superuser")
    me, other = User.objects.get(), User.objects.create_superuser("root", password="x")
    data = user_data(other, is_superuser="", is_active="")
    assert post(client, "auth_user_change", data, other.pk).status_code == 302
    assert post(client, "auth_user_change", user_data(me, username="me"), me.pk).status_code == 302
    other.refresh_from_db()
    me.refresh_from_db()
    assert (other.is_superuser, other.is_active) == (False, False)
    assert (me.username, me.is_superuser, me.is_active, me.is_staff) == ("me", True, True, True)
    assert post(client, "auth_user_delete", {"post": "yes"}, other.pk).status_code == 302
    assert not User.objects.filter(pk=other.pk).exists()


@pytest.mark.parametrize("field", ["is_active", "is_staff", "is_superuser"])
def test_a_superuser_does_not_lock_himself_out(
    sign_in: Callable[[str], Client], field: str
) -> None:
    client = sign_in("superuser")
    me = User.objects.get()
    page = post(client, "auth_user_change", user_data(me, **{field: ""}), me.pk)
    assert page.status_code == 200
    assert "lock yourself out" in page.context["adminform"].form.errors[field][0]
    me.refresh_from_db()
    assert getattr(me, field)


def test_one_superuser_is_always_left(sign_in: Callable[[str], Client]) -> None:
    client = sign_in("superuser")
    me, other = User.objects.get(), User.objects.create_superuser("root", password="x")
    assert post(client, "auth_user_delete", {"post": "yes"}, me.pk).status_code == 403
    both = {"action": "delete_selected", "_selected_action": [me.pk, other.pk], "post": "yes"}
    post(client, "auth_user_changelist", both)
    assert User.objects.filter(pk=me.pk).exists()


def test_roles_are_brought_back_to_their_definition(seeded: None) -> None:
    roles_sync()
    viewer = Group.objects.get(name="viewer")
    before = set(viewer.permissions.values_list("codename", flat=True))
    assert before
    assert all(name.startswith("view_") for name in before)
    viewer.permissions.clear()
    Group.objects.create(name="interns")
    roles_sync()
    assert set(viewer.permissions.values_list("codename", flat=True)) == before
    assert Group.objects.count() == len(ROLES) + 1
