"""An API key lets its holder in, and every other thing that is sent gets a clear refusal."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from asgiref.sync import sync_to_async

from coordination.epoch import ConfigCache
from tenants.choices import Scope
from tenants.errors import (
    AuthenticationError,
    KeyExpired,
    KeyMalformed,
    KeyMissing,
    KeyRevoked,
    KeyUnknown,
    LimiterUnavailable,
    TenantInactive,
)
from tenants.hashing import secret_new
from tenants.models import ApiKey, Tenant
from tenants.selectors import UnknownDigests, principal_authenticate
from tenants.services import (
    api_key_revoke,
    tenant_activate,
    tenant_deactivate,
    tenant_update,
    tier_update,
)

Issue = Callable[..., tuple[ApiKey, str]]
NOW = datetime.now(UTC)


async def test_holder_is_let_in(issue: Issue, tenant: Tenant, cache: ConfigCache) -> None:
    key, secret = await sync_to_async(issue)("standard", scopes=["speech", "voices"])
    caller = await principal_authenticate(secret, cache=cache, now=NOW)
    assert caller.tenant_id == str(tenant.pk)
    assert caller.tenant_slug == "acme"
    assert caller.key_id == str(key.pk)
    assert secret.startswith(caller.key_prefix)
    assert caller.tier.name == "standard"
    assert [tier.name for tier in caller.tiers] == ["realtime", "standard"]
    assert caller.known_tiers == ("realtime", "standard", "hq")
    assert caller.scopes == {Scope.SPEECH, Scope.VOICES}


@pytest.mark.parametrize(
    ("sent", "error"),
    [
        (None, KeyMissing),
        ("", KeyMissing),
        ("  ", KeyMissing),
        ("sk-abc", KeyMalformed),
        ("vh_", KeyMalformed),
        ("vh_abcdefgh_" + "x" * 42, KeyMalformed),
        ("vh_abcdefgh_" + "x" * 43 + "\n", KeyMalformed),
        ("vh_abcdefgh_" + "é" * 43, KeyMalformed),
        ("x" * 1_000_000, KeyMalformed),
        ("vh_abcdefgh_" + "x" * 43, KeyUnknown),
    ],
)
async def test_what_is_no_key_is_refused(
    sent: str | None, error: type[AuthenticationError], seeded: None, cache: ConfigCache
) -> None:
    with pytest.raises(error) as caught:
        await principal_authenticate(sent, cache=cache, now=NOW)
    assert (caught.value.status, caught.value.code) == (401, "invalid_api_key")
    assert caught.value.type == "authentication_error"
    assert not sent or len(sent) < 12 or sent not in caught.value.message


async def test_wrong_secret_with_a_right_prefix_is_unknown(
    issue: Issue, cache: ConfigCache
) -> None:
    _, secret = await sync_to_async(issue)()
    with pytest.raises(KeyUnknown):
        await principal_authenticate(
            secret[:-1] + ("A" if secret[-1] != "A" else "B"), cache=cache, now=NOW
        )


async def test_revoked_key_is_refused_at_the_next_epoch_read_without_any_message(
    issue: Issue, cache: ConfigCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coordination.epoch.get_channel_layer", lambda: None)
    key, secret = await sync_to_async(issue)()
    await principal_authenticate(secret, cache=cache, now=NOW)
    await sync_to_async(api_key_revoke)(key=key)
    cache._read_at = float("-inf")  # half a second later
    with pytest.raises(KeyRevoked):
        await principal_authenticate(secret, cache=cache, now=NOW)


async def test_between_epoch_reads_neither_redis_nor_the_database_is_asked(
    issue: Issue, monkeypatch: pytest.MonkeyPatch, redis_loop: object
) -> None:
    reads = 0

    async def read() -> str:
        nonlocal reads
        reads += 1
        return "one"

    cache = ConfigCache(read_epoch=read, clock=lambda: 5.0)
    _, secret = await sync_to_async(issue)()
    first = await principal_authenticate(secret, cache=cache, now=NOW)

    def fail(**_: object) -> None:
        raise AssertionError("the database was asked again")

    monkeypatch.setattr("tenants.selectors.key_record", fail)
    assert await principal_authenticate(secret, cache=cache, now=NOW) == first
    assert reads == 1


async def test_end_of_a_key_is_compared_at_every_use(issue: Issue, cache: ConfigCache) -> None:
    ends = NOW + timedelta(hours=1)
    _, secret = await sync_to_async(issue)(expires_at=ends)
    caller = await principal_authenticate(secret, cache=cache, now=ends - timedelta(microseconds=1))
    assert caller.expires_at == ends
    with pytest.raises(KeyExpired):
        await principal_authenticate(secret, cache=cache, now=ends)


async def test_deactivated_tenant_is_refused_until_it_is_activated(
    issue: Issue, tenant: Tenant, cache: ConfigCache
) -> None:
    _, secret = await sync_to_async(issue)()
    await sync_to_async(tenant_deactivate)(tenant=tenant)
    with pytest.raises(TenantInactive):
        await principal_authenticate(secret, cache=cache, now=NOW)
    await sync_to_async(tenant_activate)(tenant=tenant)
    cache._read_at = float("-inf")
    await principal_authenticate(secret, cache=cache, now=NOW)


async def test_changed_tier_and_tenant_limits_are_in_force_at_the_next_epoch_read(
    issue: Issue, tenant: Tenant, cache: ConfigCache
) -> None:
    key, secret = await sync_to_async(issue)()
    await principal_authenticate(secret, cache=cache, now=NOW)
    await sync_to_async(lambda: tier_update(tier=key.tier, max_characters=77))()
    await sync_to_async(lambda: tenant_update(tenant=tenant, concurrency=3))()
    cache._read_at = float("-inf")
    caller = await principal_authenticate(secret, cache=cache, now=NOW)
    assert caller.tier.max_characters == 77
    assert caller.tenant_limits.concurrency == 3


async def test_unknown_key_is_remembered_until_the_configuration_changes(
    issue: Issue, cache: ConfigCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = secret_new()
    with pytest.raises(KeyUnknown):
        await principal_authenticate(made.text, cache=cache, now=NOW)
    with monkeypatch.context() as patch:
        patch.setattr("tenants.selectors.key_record", None)
        with pytest.raises(KeyUnknown):
            await principal_authenticate(made.text, cache=cache, now=NOW)
    monkeypatch.setattr("tenants.services.secret_new", lambda: made)
    await sync_to_async(issue)()
    cache._read_at = float("-inf")
    await principal_authenticate(made.text, cache=cache, now=NOW)


def test_memory_of_unknown_keys_is_bounded() -> None:
    unknown = UnknownDigests(limit=3)
    for digest in "abcde":
        unknown.add(digest)
    assert len(unknown) == 3
    assert "e" in unknown
    assert "a" not in unknown


async def test_without_redis_nobody_is_let_in_on_stale_grounds(
    issue: Issue, settings: object, redis_loop: object
) -> None:
    from redis.exceptions import ConnectionError as RedisConnectionError

    async def down() -> str:
        raise RedisConnectionError("refused")

    _, secret = await sync_to_async(issue)()
    with pytest.raises(LimiterUnavailable) as caught:
        await principal_authenticate(secret, cache=ConfigCache(read_epoch=down), now=NOW)
    assert caught.value.status == 503
    assert caught.value.retry_after == 1.0


async def test_tenants_do_not_see_each_other(seeded: None, cache: ConfigCache) -> None:
    from tenants.models import QualityTier
    from tenants.services import api_key_issue, tenant_create

    def two() -> list[tuple[Tenant, str]]:
        tier = QualityTier.objects.get(name="hq")
        tenants = [tenant_create(name=name) for name in ("Acme", "Bolt")]
        return [(tenant, api_key_issue(tenant=tenant, tier=tier)[1]) for tenant in tenants]

    (acme, first), (bolt, second) = await sync_to_async(two)()
    await sync_to_async(tenant_deactivate)(tenant=acme)
    with pytest.raises(TenantInactive) as caught:
        await principal_authenticate(first, cache=cache, now=NOW)
    assert "acme" not in caught.value.message.lower()
    caller = await principal_authenticate(second, cache=cache, now=NOW)
    assert caller.tenant_id == str(bolt.pk)
