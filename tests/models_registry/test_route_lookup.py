"""A caller's key finds its version, the same one every time, as the weights say."""

import pytest
from asgiref.sync import async_to_sync
from pytest_django import DjangoAssertNumQueries

from coordination.epoch import ConfigCache
from models_registry.errors import RouteNotFound
from models_registry.selectors import (
    EVERY_PUBLIC,
    RouteAccess,
    RoutedVersion,
    models_listed,
    route,
    version_spec_sync,
    versions_with_weight,
)
from models_registry.services import route_create, route_set
from tenants.models import QualityTier
from tests.epoch import Epoch
from tests.models_registry.registering import VersionMaker

HIDDEN_ONLY = RouteAccess(public=False, named=frozenset({"hidden"}))
EVERYTHING = RouteAccess(public=True, named=frozenset({"hidden", "gone"}))
KEYS = [f"key-{number}" for number in range(400)]


@pytest.fixture
def split(version_make: VersionMaker) -> None:
    """Route tts-1, nine tenths to demo@1; hidden, not public; empty, without weights."""
    version_make("1")
    version_make("2")
    route_create(
        name="tts-1",
        default_tier_id=QualityTier.objects.get(name="realtime").pk,
        description="Fast",
    )
    route_create(name="hidden", is_public=False)
    route_create(name="empty")
    route_set("tts-1", {"demo@1": 90, "demo@2": 10}, "test")
    route_set("hidden", {"demo@2": 1}, "test")


def look_up(name: str, cache: ConfigCache, access: RouteAccess = EVERY_PUBLIC) -> RoutedVersion:
    return async_to_sync(route)(name, "key", cache=cache, access=access)


def look_up_all(cache: ConfigCache) -> dict[str, str]:
    """Each of KEYS and its version on tts-1."""

    async def every() -> dict[str, str]:
        return {key: (await route("tts-1", key, cache=cache)).version for key in KEYS}

    return async_to_sync(every)()


@pytest.mark.usefixtures("split")
def test_key_finds_its_version(cache: ConfigCache) -> None:
    routed = look_up("tts-1", cache)
    assert routed.version in {"demo@1", "demo@2"}
    assert (routed.route, routed.model, routed.engine) == ("tts-1", "demo", "tone")
    assert (routed.sample_rate, routed.languages) == (24_000, ("en", "zh"))
    assert routed.default_tier == "realtime"


@pytest.mark.usefixtures("split")
def test_growing_a_canary_keeps_its_callers(cache: ConfigCache, epoch: Epoch) -> None:
    before = look_up_all(cache)
    route_set("tts-1", {"demo@1": 50, "demo@2": 50}, "test")
    epoch.bump()
    after = look_up_all(cache)
    canary = {key for key in KEYS if before[key] == "demo@2"}
    assert canary
    assert all(after[key] == "demo@2" for key in canary)
    assert 140 < sum(version == "demo@2" for version in after.values()) < 260
    route_set("tts-1", {"demo@1": 90, "demo@2": 10}, "test")
    epoch.bump()
    assert look_up_all(cache) == before


@pytest.mark.usefixtures("split")
def test_weight_counts_with_the_next_epoch_and_not_before(cache: ConfigCache, epoch: Epoch) -> None:
    before = look_up("tts-1", cache).version
    other = "demo@2" if before == "demo@1" else "demo@1"
    route_set("tts-1", {other: 1}, "test")
    assert look_up("tts-1", cache).version == before
    epoch.bump()
    assert look_up("tts-1", cache).version == other


@pytest.mark.usefixtures("split")
def test_look_ups_cost_one_query_an_epoch(
    cache: ConfigCache, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(1):
        look_up_all(cache)


@pytest.mark.usefixtures("split")
@pytest.mark.parametrize("name", ["tts-9", "hidden", "empty", "../../etc", ""])
def test_what_the_caller_may_not_see_does_not_exist(cache: ConfigCache, name: str) -> None:
    with pytest.raises(RouteNotFound) as caught:
        look_up(name, cache)
    assert (caught.value.status, caught.value.code) == (404, "model_not_found")
    assert caught.value.available == ("tts-1",)
    assert "available: tts-1" in caught.value.message


@pytest.mark.usefixtures("split")
def test_hidden_route_is_for_those_whose_tier_names_it(cache: ConfigCache) -> None:
    for access in (HIDDEN_ONLY, EVERYTHING):
        found = look_up("hidden", cache, access)
        assert (found.version, found.is_public) == ("demo@2", False)
    assert look_up("tts-1", cache).is_public
    with pytest.raises(RouteNotFound, match=r"available: hidden$"):
        look_up("tts-9", cache, HIDDEN_ONLY)
    with pytest.raises(RouteNotFound, match=r"available: hidden, tts-1$"):
        look_up("tts-9", cache, EVERYTHING)


@pytest.mark.usefixtures("split")
def test_models_are_listed() -> None:
    listed = async_to_sync(models_listed)()
    assert [model.name for model in listed] == ["tts-1"]
    assert listed[0].created > 1_700_000_000


@pytest.mark.usefixtures("split")
@pytest.mark.parametrize(
    ("access", "names"), [(HIDDEN_ONLY, ["hidden"]), (EVERYTHING, ["hidden", "tts-1"])]
)
def test_listed_is_what_may_be_used(access: RouteAccess, names: list[str]) -> None:
    assert [model.name for model in async_to_sync(models_listed)(access)] == names


@pytest.mark.usefixtures("split")
def test_workers_read_what_to_load() -> None:
    specs = async_to_sync(versions_with_weight)()
    assert [spec.key for spec in specs] == ["demo@1", "demo@2"]
    assert version_spec_sync("demo@1") == specs[0]
