"""A version whose manifest cannot be read is not available; every other one goes on."""

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.test import Client
from structlog.testing import capture_logs

from coordination.epoch import ConfigCache
from models_registry.errors import VersionUnreadable
from models_registry.models import ModelVersion
from models_registry.selectors import (
    UnreadableVersion,
    VersionSpec,
    models_listed,
    route,
    versions_with_weight_sync,
)
from models_registry.services import route_create, route_set, version_sources_refresh
from tests.models_registry.registering import VersionMaker, manifest_of

REASON = "manifest: unknown field 'colour'"


@pytest.fixture
def split(version_make: VersionMaker) -> ModelVersion:
    """Route tts-1, half to demo@1 and half to demo@2, which a newer platform has written."""
    version_make("1")
    broken = version_make("2")
    route_create(name="tts-1")
    route_set("tts-1", {"demo@1": 50, "demo@2": 50}, "test")
    ModelVersion.objects.filter(pk=broken.pk).update(manifest=broken.manifest | {"colour": "red"})
    broken.refresh_from_db()
    return broken


@pytest.mark.usefixtures("split")
def test_the_others_are_read() -> None:
    good, broken = versions_with_weight_sync()
    assert isinstance(good, VersionSpec)
    assert good.key == "demo@1"
    assert isinstance(broken, UnreadableVersion)
    assert broken.key == "demo@2"
    assert broken.reason.startswith(REASON)


@pytest.mark.usefixtures("split")
def test_callers_of_the_others_are_served(cache: ConfigCache) -> None:
    async def ends() -> set[str]:
        found = set()
        for number in range(100):
            try:
                found.add((await route("tts-1", f"key-{number}", cache=cache)).version)
            except VersionUnreadable as error:
                found.add(f"{error.status} {error}")
        return found

    with capture_logs() as logs:
        found = async_to_sync(ends)()
    assert found == {"demo@1", "503 version demo@2 is not available now"}
    (line,) = (entry for entry in logs if entry["event"] == "manifest_unreadable")
    assert line["version"] == "demo@2"
    assert line["reason"].startswith(REASON)
    assert [listed.name for listed in async_to_sync(models_listed)()] == ["tts-1"]


def test_the_admin_says_what_is_wrong(split: ModelVersion, client: Client) -> None:
    client.force_login(User.objects.create_superuser("root", password="secret"))
    page = client.get("/admin/models_registry/modelversion/").content.decode()
    assert page.count("unreadable") == 1
    page = client.get(f"/admin/models_registry/modelversion/{split.pk}/change/").content.decode()
    assert "manifest: unknown field &#x27;colour&#x27;" in page


def test_importing_the_same_bytes_again_mends_it(split: ModelVersion) -> None:
    version_sources_refresh(split, manifest_of(version="2"))
    assert all(isinstance(spec, VersionSpec) for spec in versions_with_weight_sync())
