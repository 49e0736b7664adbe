"""Callers and clocks that exist in no database and in no other process."""

from typing import Any
from uuid import uuid4

from tenants.choices import Scope, TierPriority, TierProfile
from tenants.principal import Principal, TenantLimits, TierSpec


def tier_spec_for(name: str = "standard", **fields: Any) -> TierSpec:
    """A tier as a value, with limits that tests set as they need."""
    values: dict[str, Any] = {
        "rank": 20,
        "priority": TierPriority.STANDARD,
        "profile": TierProfile.STANDARD,
        "concurrency": 10,
        "requests_per_minute": 300,
        "characters_per_minute": 120_000,
        "max_characters": 5_000,
        "max_queue_seconds": 20.0,
    }
    return TierSpec(name=name, **(values | fields))


def principal_for(
    tier: TierSpec | None = None,
    *,
    tenant_id: str = "",
    limits: TenantLimits | None = None,
    **fields: Any,
) -> Principal:
    """A caller who exists in no database."""
    own = tier or tier_spec_for()
    return Principal(
        tenant_id=tenant_id or str(uuid4()),
        tenant_slug="acme",
        key_id=str(uuid4()),
        key_prefix="vh_abcdefgh",
        tier=own,
        tiers=fields.pop("tiers", (own,)),
        scopes=fields.pop("scopes", frozenset(Scope)),
        tenant_limits=limits or TenantLimits(),
        **fields,
    )


class Clock:
    """Microseconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 1_700_000_000_000_000

    def __call__(self) -> int:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += round(seconds * 1_000_000)
