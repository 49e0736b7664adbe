"""What was heard of a version's profiles is kept with it, shown, audited, and read by workers."""

from datetime import UTC, datetime

import pytest
from auditlog.models import LogEntry
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse

from models_registry.errors import VersionNotFound
from models_registry.models import ProfileCheck
from models_registry.selectors import (
    VersionSpec,
    version_spec_sync,
    version_verdicts,
    versions_with_weight_sync,
)
from models_registry.services import (
    CheckedProfile,
    route_create,
    route_set,
    version_checks_set,
)
from models_registry.states import Verdict
from tests.models_registry.registering import VersionMaker

AT = datetime(2026, 5, 1, tzinfo=UTC)
REFERENCE = {"zh": 0.02, "en": 0.01}
WORSE = CheckedProfile("realtime", Verdict.WORSE, {"zh": 0.071}, REFERENCE, "standard")
PASSED = CheckedProfile("standard", Verdict.PASSED, {"zh": 0.02, "en": 0.015}, REFERENCE)


def test_verdicts_are_kept_with_the_version(version_make: VersionMaker) -> None:
    version_make("1")
    assert version_verdicts("demo@1") == {}
    version_checks_set("demo@1", [WORSE, PASSED], sentences=20, at=AT)
    assert version_verdicts("demo@1") == {"realtime": "worse", "standard": "passed"}
    check = ProfileCheck.objects.get(profile="realtime")
    assert (check.errors, check.reference) == ({"zh": 0.071}, REFERENCE)
    assert (check.sentences, check.checked_at) == (20, AT)


def test_workers_read_in_whose_numbers_a_profile_is_loaded(version_make: VersionMaker) -> None:
    version_make("1")
    version_checks_set("demo@1", [WORSE, PASSED], sentences=20, at=AT)
    route_create(name="tts-1")
    route_set("tts-1", {"demo@1": 1}, "test")
    for spec in (version_spec_sync("demo@1"), *versions_with_weight_sync()):
        assert isinstance(spec, VersionSpec)
        assert spec.numbers == {"realtime": "standard"}


def test_a_new_check_takes_the_place_of_the_last_and_is_audited(version_make: VersionMaker) -> None:
    version_make("1")
    version_checks_set("demo@1", [WORSE], sentences=20, at=AT)
    better = CheckedProfile("realtime", Verdict.PASSED, {"zh": 0.02}, REFERENCE)
    version_checks_set("demo@1", [better], sentences=20, at=AT)
    check = ProfileCheck.objects.get()
    assert (check.verdict, check.numbers) == ("passed", "")
    changes = [entry.changes for entry in LogEntry.objects.get_for_object(check)]
    assert any(change.get("verdict") == ["worse", "passed"] for change in changes)


def test_unknown_versions_and_verdicts_are_refused(version_make: VersionMaker) -> None:
    with pytest.raises(VersionNotFound, match="'nothing@1'"):
        version_checks_set("nothing@1", [WORSE], sentences=20, at=AT)
    version_make("1")
    version_checks_set("demo@1", [WORSE], sentences=20, at=AT)
    with pytest.raises(IntegrityError), transaction.atomic():
        ProfileCheck.objects.update(verdict="fine")


def test_the_admin_shows_verdicts_to_look_at(version_make: VersionMaker) -> None:
    version = version_make("1")
    client = Client()
    client.force_login(User.objects.create_superuser("ada"))
    versions = reverse("admin:models_registry_modelversion_changelist")
    change = reverse("admin:models_registry_modelversion_change", args=[version.pk])
    for address in (versions, change):
        assert "unverified" in client.get(address).content.decode()
    version_checks_set("demo@1", [WORSE, PASSED], sentences=20, at=AT)
    assert "worse" in client.get(versions).content.decode()
    shown = client.get(change).content.decode()
    for text in ("zh 7.1%", "zh 2.0%, en 1.0%", "in the numbers of standard", "in its own numbers"):
        assert text in shown
    assert 'name="checks-0-verdict"' not in shown
