"""Reading tenants, tiers and keys; authentication is reading, too."""

import hmac
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from channels.db import database_sync_to_async
from redis.exceptions import RedisError

from coordination.epoch import ConfigCache
from tenants.choices import Scope, TierPriority, TierProfile
from tenants.errors import (
    KeyExpired,
    KeyRevoked,
    KeyUnknown,
    LimiterUnavailable,
    NotFound,
    TenantInactive,
)
from tenants.hashing import MARK, PREFIX_LENGTH, secret_digest
from tenants.models import ApiKey, QualityTier, Tenant
from tenants.principal import Principal, TenantLimits, TierSpec
from tenants.touches import KEY_TOUCHES, KeyTouches

T = TypeVar("T")
UNKNOWN_MAX = 4096


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """What the database says of a key; its time is compared at every use."""

    digest: str
    principal: Principal
    revoked: bool
    tenant_active: bool


class UnknownDigests:
    """Digests of keys that do not exist, oldest forgotten first.

    Kept apart from the other entries of the cache, so that guessed keys never
    push out what serves real ones.
    """

    def __init__(self, limit: int = UNKNOWN_MAX) -> None:
        self._limit = limit
        self._digests: OrderedDict[str, None] = OrderedDict()

    def __contains__(self, digest: str) -> bool:
        return digest in self._digests

    def __len__(self) -> int:
        return len(self._digests)

    def add(self, digest: str) -> None:
        """Remember one."""
        self._digests[digest] = None
        if len(self._digests) > self._limit:
            self._digests.popitem(last=False)


async def principal_authenticate(
    secret: str | None,
    *,
    cache: ConfigCache,
    now: datetime,
    touches: KeyTouches = KEY_TOUCHES,
) -> Principal:
    """The caller who holds the API key `secret`.

    Raises AuthenticationError (KeyMissing, KeyMalformed, KeyUnknown, KeyRevoked,
    KeyExpired, TenantInactive), or LimiterUnavailable while the configuration
    epoch cannot be read: a key is never honoured on stale grounds.
    """
    digest = secret_digest(secret)
    unknown = await _cached(cache, "tenants.unknown", _unknown_new)
    if digest in unknown:
        raise KeyUnknown

    async def load() -> KeyRecord:
        return await database_sync_to_async(key_record)(digest=digest)

    try:
        record = await _cached(cache, ("tenants.digest", digest), load)
    except KeyUnknown:
        unknown.add(digest)
        raise
    if not hmac.compare_digest(record.digest, digest):
        raise KeyUnknown
    principal = _record_check(record, now)
    touches.touch(principal.key_id, now)
    return principal


async def principal_by_key(key_id: str, *, cache: ConfigCache, now: datetime) -> Principal:
    """The caller for whom a verified token stands; raises as `principal_authenticate` does."""

    async def load() -> KeyRecord:
        return await database_sync_to_async(key_record)(key_id=key_id)

    return _record_check(await _cached(cache, ("tenants.key", key_id), load), now)


def key_record(*, digest: str | None = None, key_id: str | None = None) -> KeyRecord:
    """Read a key with its tenant and tiers; raises KeyUnknown."""
    wanted = {"digest": digest} if digest is not None else {"pk": key_id}
    try:
        key = ApiKey.objects.select_related("tenant", "tier").get(**wanted)
    except ApiKey.DoesNotExist as error:
        raise KeyUnknown from error
    tiers = [tier_spec(tier) for tier in QualityTier.objects.order_by("rank")]
    own = tier_spec(key.tier)
    principal = Principal(
        tenant_id=str(key.tenant_id),
        tenant_slug=key.tenant.slug,
        key_id=str(key.pk),
        key_prefix=key.prefix,
        tier=own,
        tiers=tuple(tier for tier in tiers if tier.rank <= own.rank),
        scopes=frozenset(Scope(name) for name in key.scopes if name in Scope.values),
        expires_at=key.expires_at,
        tenant_limits=TenantLimits(
            concurrency=key.tenant.concurrency,
            requests_per_minute=key.tenant.requests_per_minute,
            characters_per_minute=key.tenant.characters_per_minute,
        ),
        known_tiers=tuple(tier.name for tier in tiers),
    )
    return KeyRecord(
        digest=key.digest,
        principal=principal,
        revoked=key.revoked_at is not None,
        tenant_active=key.tenant.is_active,
    )


def tier_spec(tier: QualityTier) -> TierSpec:
    """A tier as a value."""
    return TierSpec(
        name=tier.name,
        rank=tier.rank,
        priority=TierPriority(tier.priority),
        profile=TierProfile(tier.profile),
        concurrency=tier.concurrency,
        requests_per_minute=tier.requests_per_minute,
        characters_per_minute=tier.characters_per_minute,
        max_characters=tier.max_characters,
        max_queue_seconds=tier.max_queue_seconds,
        allowed_models=tuple(tier.allowed_models),
    )


def tenant_find(name: str) -> Tenant:
    """A tenant by slug, else by its exact name; raises NotFound."""
    found = Tenant.objects.filter(slug=name).first()
    if found is not None:
        return found
    matches = list(Tenant.objects.filter(name=name)[:2])
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise NotFound(f"More than one tenant is named '{name}': give the slug.", param="tenant")
    raise NotFound(f"There is no tenant '{name}'.", param="tenant")


def tier_find(name: str) -> QualityTier:
    """A tier by name; raises NotFound naming those there are."""
    try:
        return QualityTier.objects.get(name=name)
    except QualityTier.DoesNotExist as error:
        names = ", ".join(QualityTier.objects.values_list("name", flat=True))
        raise NotFound(f"There is no tier '{name}'; tiers are: {names}.", param="tier") from error


def api_key_find(prefix: str) -> ApiKey:
    """A key by its prefix (8 characters, `vh_` before them or not) or the whole key.

    Raises NotFound.
    """
    wanted = (prefix if prefix.startswith(MARK) else MARK + prefix)[:PREFIX_LENGTH]
    try:
        return ApiKey.objects.select_related("tenant").get(prefix=wanted)
    except ApiKey.DoesNotExist as error:
        raise NotFound(
            f"There is no API key with the prefix '{wanted}'.", param="prefix"
        ) from error


def _record_check(record: KeyRecord, now: datetime) -> Principal:
    principal = record.principal
    if record.revoked:
        raise KeyRevoked
    if principal.expires_at is not None and principal.expires_at <= now:
        raise KeyExpired
    if not record.tenant_active:
        raise TenantInactive
    return principal


async def _unknown_new() -> UnknownDigests:
    return UnknownDigests()


async def _cached(cache: ConfigCache, key: Hashable, load: Callable[[], Awaitable[T]]) -> T:
    try:
        return await cache.get(key, load)
    except RedisError as error:
        raise LimiterUnavailable from error
