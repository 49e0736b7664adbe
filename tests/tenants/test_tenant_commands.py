"""The commands print what scripts need and fail with one sentence."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django_celery_beat.models import PeriodicTask

from tenants.hashing import secret_digest
from tenants.models import ApiKey, Tenant
from tenants.tasks import sessions_clear

Issue = Callable[..., tuple[ApiKey, str]]


def run(*arguments: str) -> str:
    output = StringIO()
    call_command(*arguments, stdout=output)
    return output.getvalue()


def test_key_alone_is_printed(seeded: None) -> None:
    output = run("apikey_create", "--tenant", "demo", "--tier", "hq", "--create")
    assert output.count("\n") == 1
    key = ApiKey.objects.get(digest=secret_digest(output.strip()))
    assert (key.tenant.slug, key.tier.name, key.expires_at) == ("demo", "hq", None)


def test_second_key_joins_the_tenant(seeded: None) -> None:
    for tenant in ("Acme Inc.", "acme-inc", "Acme Inc."):
        run("apikey_create", "--tenant", tenant, "--tier", "standard", "--create")
    assert Tenant.objects.count() == 1
    assert ApiKey.objects.count() == 3


def test_options_are_kept(tenant: Tenant) -> None:
    run(
        "apikey_create", "--tenant", "acme", "--tier", "standard", "--name", "shop",
        "--expires-days", "2", "--scope", "speech", "--scope", "voices",
    )  # fmt: skip
    key = ApiKey.objects.get()
    assert (key.name, key.scopes) == ("shop", ["speech", "voices"])
    assert key.expires_at is not None
    assert timedelta(days=1) < key.expires_at - datetime.now(UTC) <= timedelta(days=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tenant", "new", "--tier", "standard"], "There is no tenant 'new'"),
        (["--tenant", "new", "--tier", "gold", "--create"], "tiers are: realtime, standard, hq"),
        (["--tenant", "new", "--tier", "hq", "--create", "--expires-days", "-1"], "future"),
        (["--tenant", "new", "--tier", "hq", "--create", "--expires-days", "1e9"], "no such day"),
        (["--tenant", "new", "--tier", "hq", "--create", "--expires-days", "nan"], "no such day"),
        (["--tenant", "new", "--tier", "hq", "--scope", "root"], "root"),
        (["--tenant", " ", "--tier", "hq", "--create"], "name"),
    ],
)
def test_failure_says_why_and_leaves_nothing(
    seeded: None, arguments: list[str], message: str
) -> None:
    with pytest.raises(CommandError, match=message):
        run("apikey_create", *arguments)
    assert not Tenant.objects.exists()


def test_key_is_revoked_by_prefix_or_whole(issue: Issue) -> None:
    key, secret = issue()
    assert run("apikey_revoke", key.prefix) == f"{key.prefix} of tenant acme is revoked\n"
    assert "already" in run("apikey_revoke", secret)
    assert "already" in run("apikey_revoke", key.prefix.removeprefix("vh_"))
    key.refresh_from_db()
    assert key.revoked_at is not None
    with pytest.raises(CommandError, match="vh_unknown0"):
        run("apikey_revoke", "vh_unknown0")


@pytest.mark.django_db
def test_expired_sessions_are_cleared_every_night() -> None:
    import importlib

    from django.apps import apps

    importlib.import_module("tenants.migrations.0003_schedule_sessions_clear").schedule(apps, None)
    beat = PeriodicTask.objects.get(task="tenants.tasks.sessions_clear")
    assert beat.enabled
    assert beat.task == sessions_clear.name
    now = datetime.now(UTC)
    for name, ends in (("old", now - timedelta(days=1)), ("new", now + timedelta(days=1))):
        Session.objects.create(session_key=name, session_data="", expire_date=ends)
    sessions_clear()
    assert [session.session_key for session in Session.objects.all()] == ["new"]
