"""A route keeps its tier whatever that is called, and a tier stays while a route has it."""

from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.apps.registry import Apps
from django.contrib.auth.models import User
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.test import Client
from django.urls import reverse

from coordination.epoch import ConfigCache
from models_registry.models import Route
from models_registry.selectors import models_listed, route
from models_registry.services import route_create, route_set, route_update
from tenants.errors import InvalidValue
from tenants.models import QualityTier
from tenants.services import tier_create, tier_delete, tier_update
from tests.models_registry.registering import VersionMaker

BEFORE = ("models_registry", "0002_profile_checks")
AFTER = ("models_registry", "0004_route_tier_named")


@pytest.fixture
def tier(version_make: VersionMaker) -> QualityTier:
    """The tier "fast", which the route tts-1 has and no key."""
    fast = tier_create(
        name="fast", rank=77, priority="realtime", profile="realtime", concurrency=1,
        requests_per_minute=1, characters_per_minute=1, max_characters=1, max_queue_seconds=1.0,
    )  # fmt: skip
    version_make("1")
    route_create(name="tts-1", default_tier_id=fast.pk)
    route_set("tts-1", {"demo@1": 1}, "test")
    return fast


def test_a_renamed_tier_stays_the_routes(tier: QualityTier, cache: ConfigCache) -> None:
    tier_update(tier=tier, name="faster")
    routed = async_to_sync(route)("tts-1", "key", cache=cache)
    assert routed.default_tier == "faster"
    assert [listed.default_tier for listed in async_to_sync(models_listed)()] == ["faster"]


def test_a_tier_that_a_route_has_is_not_deleted(tier: QualityTier) -> None:
    with pytest.raises(InvalidValue, match="still routes with the tier 'fast'"):
        tier_delete(tier=tier)
    route_update("tts-1", description="", default_tier_id=None, is_public=True)
    tier_delete(tier=tier)


def test_the_admin_offers_the_tiers_by_name(tier: QualityTier, client: Client) -> None:
    client.force_login(User.objects.create_superuser("root", password="secret"))
    page = reverse("admin:models_registry_route_change", args=[Route.objects.get().pk])
    html = client.get(page).content.decode()
    assert f'<option value="{tier.pk}" selected>fast</option>' in html
    assert "the key&#x27;s own</option>" in html


def _migrated(target: tuple[str, str]) -> Apps:
    executor = MigrationExecutor(connection)
    executor.migrate([target])
    return MigrationExecutor(connection).loader.project_state([target]).apps


@pytest.mark.django_db(transaction=True)
def test_names_become_tiers_and_back(tier: QualityTier) -> None:
    try:
        old: Any = _migrated(BEFORE).get_model("models_registry", "Route")
        assert old.objects.get().default_tier == "fast"
        old.objects.create(name="stale", default_tier="gone", salt="s")
        old.objects.create(name="plain", default_tier="", salt="s")
    finally:
        _migrated(AFTER)
    tiers = dict(Route.objects.values_list("name", "default_tier__name"))
    assert tiers == {"tts-1": "fast", "stale": None, "plain": None}
