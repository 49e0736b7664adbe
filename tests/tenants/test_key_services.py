"""Keys are issued once, changed, rotated and revoked; the secret is never kept."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import redis
from django.db import IntegrityError, transaction

from tenants.choices import Scope
from tenants.errors import InvalidValue
from tenants.hashing import secret_digest, secret_new
from tenants.models import ApiKey, QualityTier, Tenant
from tenants.services import (
    api_key_issue,
    api_key_revoke,
    api_key_rotate,
    api_key_update,
    tenant_create,
    tenant_deactivate,
    tenant_update,
    tier_create,
    tier_delete,
    tier_update,
)

Issue = Callable[..., tuple[ApiKey, str]]


def test_issued_key_keeps_prefix_and_digest_only(issue: Issue) -> None:
    key, secret = issue(name="shop")
    assert re.fullmatch(r"vh_[a-z0-9]{8}_[A-Za-z0-9_-]{43}", secret)
    held = ApiKey.objects.values().get()
    assert held["prefix"] == secret[:11]
    assert held["digest"] == secret_digest(secret)
    assert held["scopes"] == list(Scope.values)
    assert secret[12:] not in repr(held)
    assert str(key) == f"{secret[:11]}… (shop)"


def test_secrets_differ_and_digests_need_the_installation_s_key(settings: object) -> None:
    assert len({secret_new().text for _ in range(100)}) == 100
    text = secret_new().text
    before = secret_digest(text)
    settings.SECRET_KEY = "another"  # type: ignore[attr-defined]
    assert secret_digest(text) != before


def test_every_change_makes_a_new_epoch(tenant: Tenant, redis_url: str) -> None:
    tier = QualityTier.objects.get(name="hq")
    key, _ = api_key_issue(tenant=tenant, tier=tier)
    changes: list[Callable[[], object]] = [
        lambda: tenant_create(name="Other"),
        lambda: tenant_update(tenant=tenant, name="Acme Inc."),
        lambda: tenant_deactivate(tenant=tenant),
        lambda: tenant_update(tenant=tenant, is_active=True),
        lambda: api_key_issue(tenant=tenant, tier=tier),
        lambda: api_key_update(key=key, name="new"),
        lambda: api_key_rotate(key=key),
        lambda: api_key_revoke(key=key),
        lambda: tier_update(tier=tier, concurrency=5),
        lambda: tier_create(
            name="bulk", rank=5, priority="offline", profile="standard", concurrency=1,
            requests_per_minute=1, characters_per_minute=1, max_characters=1,
            max_queue_seconds=600,
        ),
        lambda: tier_delete(tier=QualityTier.objects.get(name="bulk")),
    ]  # fmt: skip
    with redis.Redis.from_url(redis_url) as client:
        seen = {client.get("vh:epoch")}
        for number, change in enumerate(changes):
            change()
            seen.add(client.get("vh:epoch"))
            assert len(seen) == number + 2, number


def test_failed_change_leaves_row_and_epoch(tenant: Tenant, redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        before = client.get("vh:epoch")
        with pytest.raises(InvalidValue) as caught:
            tenant_update(tenant=tenant, name="New", concurrency=0)
        assert client.get("vh:epoch") == before
    assert "concurrency" in caught.value.message
    assert Tenant.objects.get().name == "Acme"


def test_revoking_twice_keeps_the_first_time(issue: Issue) -> None:
    key, _ = issue()
    first = datetime(2030, 1, 1, tzinfo=UTC)
    api_key_revoke(key=key, now=first)
    again = api_key_revoke(key=key, now=first + timedelta(days=1))
    assert again.revoked_at == first


def test_rotation_replaces_the_key_at_once(issue: Issue) -> None:
    key, secret = issue("hq", name="shop", scopes=["speech"])
    new, fresh = api_key_rotate(key=key)
    key.refresh_from_db()
    assert key.revoked_at is not None
    assert new.revoked_at is None
    assert fresh != secret
    assert (new.name, new.scopes, new.tier_id) == ("shop", ["speech"], key.tier_id)


def test_rotation_with_grace_lets_the_old_key_end_later_but_never_extends_it(issue: Issue) -> None:
    now = datetime.now(UTC)
    key, _ = issue()
    api_key_rotate(key=key, grace=timedelta(hours=1), now=now)
    key.refresh_from_db()
    assert (key.revoked_at, key.expires_at) == (None, now + timedelta(hours=1))
    api_key_rotate(key=key, grace=timedelta(days=1), now=now)
    key.refresh_from_db()
    assert key.expires_at == now + timedelta(hours=1)


def test_dead_key_is_not_rotated(issue: Issue) -> None:
    key, _ = issue()
    api_key_revoke(key=key)
    with pytest.raises(InvalidValue, match="revoked"):
        api_key_rotate(key=key)
    other, _ = issue(expires_at=datetime.now(UTC) + timedelta(hours=1))
    with pytest.raises(InvalidValue, match="expired"):
        api_key_rotate(key=other, now=datetime.now(UTC) + timedelta(hours=2))
    assert ApiKey.objects.count() == 2


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"scopes": []}, "scopes"),
        ({"scopes": ["root"]}, "Unknown scope 'root'"),
        ({"scopes": ["speech", "speech"]}, "twice"),
        ({"expires_at": datetime(2020, 1, 1, tzinfo=UTC)}, "future"),
        ({"expires_at": datetime(2090, 1, 1)}, "time zone"),  # noqa: DTZ001
        ({"name": "x" * 201}, "name"),
    ],
)
def test_bad_key_is_refused(issue: Issue, fields: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        issue(**fields)
    assert not ApiKey.objects.exists()


def test_deactivated_tenant_gets_no_key(issue: Issue, tenant: Tenant) -> None:
    tenant_deactivate(tenant=tenant)
    with pytest.raises(InvalidValue, match="deactivated"):
        issue()


def test_slug_is_made_and_unique(seeded: None) -> None:
    assert tenant_create(name="Über Café").slug == "uber-cafe"
    assert re.fullmatch(r"tenant-[0-9a-f]{8}", tenant_create(name="语音").slug)
    with pytest.raises(InvalidValue, match="Slug"):
        tenant_create(name="uber cafe")
    with pytest.raises(InvalidValue, match="name"):
        tenant_create(name="  ")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("concurrency", 0),
        ("requests_per_minute", 50_000_001),
        ("max_queue_seconds", -1.0),
        ("max_queue_seconds", 3601.0),
        ("priority", "urgent"),
        ("profile", "best"),
        ("rank", 10),
        ("allowed_models", "kokoro"),
        ("allowed_models", ["", "kokoro"]),
        ("name", "Gold Tier"),
    ],
)
def test_bad_tier_is_refused(seeded: None, field: str, value: Any) -> None:
    tier = QualityTier.objects.get(name="standard")
    with pytest.raises(InvalidValue):
        tier_update(tier=tier, **{field: value})


@pytest.mark.parametrize(
    ("field", "value"),
    [("concurrency", 0), ("priority", "urgent"), ("rank", 10), ("max_queue_seconds", 4000.0)],
)
def test_database_holds_the_rules_by_itself(seeded: None, field: str, value: object) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        QualityTier.objects.filter(name="standard").update(**{field: value})


def test_tier_in_use_is_not_deleted(issue: Issue) -> None:
    key, _ = issue("hq")
    with pytest.raises(InvalidValue, match="'hq'"):
        tier_delete(tier=key.tier)


def test_tiers_are_seeded_and_seeding_again_keeps_changes(seeded: None) -> None:
    import importlib

    from django.apps import apps

    tiers = QualityTier.objects.order_by("rank").values_list(
        "name", "rank", "priority", "profile", "concurrency", "requests_per_minute",
        "characters_per_minute", "max_characters", "max_queue_seconds",
    )  # fmt: skip
    assert list(tiers) == [
        ("realtime", 10, "realtime", "realtime", 20, 600, 120_000, 5_000, 10.0),
        ("standard", 20, "standard", "standard", 10, 300, 120_000, 5_000, 20.0),
        ("hq", 30, "standard", "hq", 4, 60, 60_000, 20_000, 60.0),
    ]
    tier_update(tier=QualityTier.objects.get(name="hq"), concurrency=9)
    importlib.import_module("tenants.migrations.0002_seed_tiers").tiers_seed(apps, None)
    assert QualityTier.objects.get(name="hq").concurrency == 9
