"""The admin writes every moment in one way, with its zone."""

from datetime import UTC, datetime

import pytest
from auditlog.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from tenants.models import Tenant

AT = datetime(2030, 1, 2, 13, 4, 5, tzinfo=UTC)
WRITTEN = "2030-01-02 13:04:05 UTC"


@pytest.fixture
def client(db: None, settings: Settings) -> Client:
    settings.WHITENOISE_AUTOREFRESH = True  # there are no collected static files
    client = Client()
    client.force_login(User.objects.create_superuser("root", password="x"))
    return client


def test_a_list_and_a_form(client: Client) -> None:
    tenant = Tenant.objects.create(name="Acme", slug="acme")
    Tenant.objects.update(created_at=AT)
    for page in ("changelist", "change"):
        arguments = [tenant.pk] if page == "change" else []
        shown = client.get(reverse(f"admin:tenants_tenant_{page}", args=arguments))
        assert WRITTEN in shown.content.decode(), page


def test_the_audit_log_and_the_overview(client: Client) -> None:
    tenant = Tenant.objects.create(name="Acme", slug="acme")
    LogEntry.objects.update(timestamp=AT)
    entry = LogEntry.objects.get_for_object(tenant).get()
    for address in (
        reverse("admin:auditlog_logentry_changelist"),
        reverse("admin:auditlog_logentry_change", args=[entry.pk]),
        reverse("admin:index"),
    ):
        assert WRITTEN in client.get(address).content.decode(), address


def test_a_moment_is_typed_as_it_is_written(client: Client) -> None:
    user = User.objects.get()
    User.objects.update(last_login=AT)
    shown = client.get(reverse("admin:auth_user_change", args=[user.pk])).content.decode()
    assert WRITTEN in shown
    filled_in = client.get(reverse("admin:tenants_apikey_add"), {"expires_at": "2030-01-02 13:04"})
    assert 'value="2030-01-02"' in filled_in.content.decode()
