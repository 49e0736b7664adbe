"""Every change of tenants, keys and tiers; each announces a new configuration epoch."""

import secrets
from datetime import UTC, datetime, timedelta
from typing import TypedDict, TypeVar, Unpack

from django.core.exceptions import ValidationError
from django.db import IntegrityError, models, transaction
from django.utils.text import slugify

from coordination.epoch import epoch_bump
from tenants.choices import Scope
from tenants.errors import InvalidValue
from tenants.hashing import secret_new
from tenants.models import ApiKey, QualityTier, Tenant

M = TypeVar("M", bound=models.Model)


class TenantLimitFields(TypedDict, total=False):
    """Limits of a tenant's own, over all its keys and tiers; None: the tier's."""

    concurrency: int | None
    requests_per_minute: int | None
    characters_per_minute: int | None


class TenantFields(TenantLimitFields, total=False):
    """What may be changed of a tenant."""

    name: str
    slug: str
    is_active: bool


class ApiKeyFields(TypedDict, total=False):
    """What may be changed of a key."""

    name: str
    tier: QualityTier
    scopes: list[str]
    expires_at: datetime | None


class TierFields(TypedDict, total=False):
    """What may be set of a quality tier."""

    name: str
    rank: int
    priority: str
    profile: str
    concurrency: int
    requests_per_minute: int
    characters_per_minute: int
    max_characters: int
    max_queue_seconds: float
    allowed_models: list[str]


@transaction.atomic
def tenant_create(*, name: str, slug: str = "", **limits: Unpack[TenantLimitFields]) -> Tenant:
    """Create a tenant; the slug is made from the name where none is given.

    Raises InvalidValue (a slug that is taken, a limit out of range, no name).
    """
    slug = slug or slugify(name)[:64] or f"tenant-{secrets.token_hex(4)}"
    return _save(Tenant(name=name.strip(), slug=slug, **limits))


@transaction.atomic
def tenant_update(*, tenant: Tenant, **changes: Unpack[TenantFields]) -> Tenant:
    """Change a tenant; raises InvalidValue."""
    return _change(tenant, **changes)


@transaction.atomic
def tenant_deactivate(*, tenant: Tenant) -> Tenant:
    """Refuse all keys of a tenant from now on; they work again after `tenant_activate`."""
    return _change(tenant, is_active=False)


@transaction.atomic
def tenant_activate(*, tenant: Tenant) -> Tenant:
    """Let a tenant in again."""
    return _change(tenant, is_active=True)


@transaction.atomic
def api_key_issue(
    *,
    tenant: Tenant,
    tier: QualityTier,
    name: str = "",
    scopes: list[str] | None = None,
    expires_at: datetime | None = None,
) -> tuple[ApiKey, str]:
    """A new key and its secret, which is not kept and cannot be read again.

    `scopes` None gives all of them. Raises InvalidValue (unknown scope, end in
    the past, tenant deactivated).
    """
    if not Tenant.objects.filter(pk=tenant.pk, is_active=True).exists():
        raise InvalidValue(
            f"The tenant '{tenant.slug}' is deactivated: activate it first.", param="tenant"
        )
    expiry_check(expires_at)
    new = secret_new()
    key = ApiKey(
        tenant=tenant,
        tier=tier,
        name=name.strip(),
        prefix=new.prefix,
        digest=new.digest,
        scopes=list(Scope.values) if scopes is None else list(scopes),
        expires_at=expires_at,
    )
    return _save(key), new.text


@transaction.atomic
def api_key_update(*, key: ApiKey, **changes: Unpack[ApiKeyFields]) -> ApiKey:
    """Change a key's name, tier, scopes or end; raises InvalidValue."""
    expiry_check(changes.get("expires_at"))
    return _change(key, **changes)


@transaction.atomic
def api_key_revoke(*, key: ApiKey, now: datetime | None = None) -> ApiKey:
    """End a key for good; revoking it again keeps the first time."""
    held = ApiKey.objects.select_for_update().get(pk=key.pk)
    return _change(held, revoked_at=held.revoked_at or now or datetime.now(UTC))


@transaction.atomic
def api_key_rotate(
    *, key: ApiKey, grace: timedelta = timedelta(0), now: datetime | None = None
) -> tuple[ApiKey, str]:
    """A new key in place of `key`, with its settings.

    The old one is revoked, or ends after `grace` where that is longer than zero
    and it would not end earlier. Raises InvalidValue for a key that is revoked
    or has expired.
    """
    moment = now or datetime.now(UTC)
    old = ApiKey.objects.select_for_update().select_related("tenant", "tier").get(pk=key.pk)
    if old.revoked_at is not None:
        raise InvalidValue(f"The key {old.prefix} is revoked: issue a new one.", param="key")
    if old.expires_at is not None and old.expires_at <= moment:
        raise InvalidValue(f"The key {old.prefix} has expired: issue a new one.", param="key")
    issued = api_key_issue(
        tenant=old.tenant,
        tier=old.tier,
        name=old.name,
        scopes=old.scopes,
        expires_at=old.expires_at,
    )
    if grace > timedelta(0):
        ends = moment + grace
        _change(old, expires_at=min(ends, old.expires_at) if old.expires_at else ends)
    else:
        _change(old, revoked_at=moment)
    return issued


@transaction.atomic
def tier_create(**fields: Unpack[TierFields]) -> QualityTier:
    """Create a quality tier; raises InvalidValue."""
    return _save(QualityTier(**fields))


@transaction.atomic
def tier_update(*, tier: QualityTier, **changes: Unpack[TierFields]) -> QualityTier:
    """Change a quality tier; in force for all its keys within a second. Raises InvalidValue."""
    return _change(tier, **changes)


@transaction.atomic
def tier_delete(*, tier: QualityTier) -> None:
    """Delete a tier that no key has and no route names; raises InvalidValue."""
    try:
        tier.delete()
    except models.ProtectedError as error:
        kinds = sorted({str(item._meta.verbose_name_plural) for item in error.protected_objects})
        raise InvalidValue(
            f"There are still {' and '.join(kinds)} with the tier '{tier.name}': "
            "move them to another first.",
            param="tier",
        ) from error
    epoch_bump()


def expiry_check(moment: datetime | None) -> None:
    """Raise InvalidValue for a key's end that is naive or not in the future; None is never."""
    if moment is None:
        return
    if moment.tzinfo is None:
        raise InvalidValue("The end of a key needs a time zone.", param="expires_at")
    if moment <= datetime.now(UTC):
        raise InvalidValue("The end of a key must be in the future.", param="expires_at")


def _change(instance: M, **changes: object) -> M:
    """Apply `changes` to the row as it is now, so that two editors of other fields both win."""
    held = type(instance)._default_manager.select_for_update().get(pk=instance.pk)
    for field, value in changes.items():
        setattr(held, field, value)
    return _save(held)


def _save(instance: M) -> M:
    try:
        instance.full_clean()
        with transaction.atomic():
            instance.save()
    except ValidationError as error:
        raise InvalidValue.from_validation(error) from error
    except IntegrityError as error:
        # Another process was first, between the check and the insert.
        raise InvalidValue(
            f"Another {instance._meta.verbose_name} has that name.", param="name"
        ) from error
    epoch_bump()
    return instance
