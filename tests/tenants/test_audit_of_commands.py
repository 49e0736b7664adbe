"""What a management command changes is recorded with the command and who ran it."""

import os
import pwd
from collections.abc import Callable
from io import StringIO

import pytest
from auditlog.models import LogEntry
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from coordination.command import os_user
from tenants.audit import entry_who
from tenants.models import ApiKey, Tenant
from tenants.services import tenant_create

Issue = Callable[..., tuple[ApiKey, str]]


@pytest.fixture(autouse=True)
def no_collected_static_files(settings: Settings) -> None:
    settings.WHITENOISE_AUTOREFRESH = True


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> None:
    """The operating system calls this process's user alice."""
    user = pwd.struct_passwd(("alice", "x", os.geteuid(), 0, "", "/", "/bin/sh"))
    monkeypatch.setattr(pwd, "getpwuid", lambda number: user)


def who_made(thing: ApiKey | Tenant) -> str:
    entry = LogEntry.objects.get_for_object(thing).first()
    assert entry is not None
    return entry_who(entry)


@pytest.mark.usefixtures("called")
def test_command_and_user_are_recorded(seeded: None) -> None:
    output = StringIO()
    call_command("apikey_create", "--tenant", "a", "--tier", "hq", "--create", stdout=output)
    key = ApiKey.objects.get()
    assert who_made(key) == "command:apikey_create by alice"
    assert who_made(key.tenant) == "command:apikey_create by alice"
    call_command("apikey_revoke", key.prefix, stdout=output)
    assert who_made(key) == "command:apikey_revoke by alice"


@pytest.mark.usefixtures("called")
def test_what_comes_after_a_command_is_not_its_own(seeded: None) -> None:
    arguments = ("--tenant", "a", "--tier", "hq", "--create")
    call_command("apikey_create", *arguments, stdout=StringIO())
    assert who_made(tenant_create(name="later")) == "system"


@pytest.mark.usefixtures("called")
def test_the_admin_shows_it(seeded: None, admin_client: Client) -> None:
    arguments = ("--tenant", "a", "--tier", "hq", "--create")
    call_command("apikey_create", *arguments, stdout=StringIO())
    shown = "command:apikey_create by alice"
    page = admin_client.get(reverse("admin:auditlog_logentry_changelist"), {"q": "apikey_create"})
    assert page.content.decode().count(shown) >= 2
    assert shown in admin_client.get(reverse("admin:index")).content.decode()


def test_a_user_without_a_name_is_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(number: int) -> pwd.struct_passwd:
        raise KeyError(number)

    monkeypatch.setattr(pwd, "getpwuid", nobody)
    assert os_user() == f"uid {os.geteuid()}"


def test_the_environment_does_not_say_who(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "somebody-else")
    assert "somebody-else" not in os_user()
