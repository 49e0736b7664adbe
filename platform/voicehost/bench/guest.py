"""A tenant for one run, with tiers that allow it and a tone model of its own."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Max

from models_registry.models import ModelVersion
from models_registry.services import route_create, route_delete, route_set, version_transition
from models_registry.states import VersionState
from tenants.choices import TierPriority, TierProfile
from tenants.models import ApiKey, QualityTier, Tenant
from tenants.services import api_key_issue, tenant_create, tier_create, tier_delete
from tts.services import tone_import

ACTOR = "bench"
MAX_CHARACTERS = 20_000
REQUESTS_PER_MINUTE = 1_000_000
CHARACTERS_PER_MINUTE = 50_000_000
MAX_QUEUE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Guest:
    """A key, the names of two tiers for it, and of its model of tones ("": it has none)."""

    key: str
    realtime: str
    standard: str
    tone: str


@contextmanager
def guest_admitted(*, concurrency: int, tone_config: dict[str, object]) -> Iterator[Guest]:
    """Make all that, and remove it in the end; synchronous, since it uses the database."""
    token = secrets.token_hex(4)
    name = f"bench-{token}"
    tiers: list[QualityTier] = []
    tenant: Tenant | None = None
    version = ""
    try:
        for profile in (TierProfile.REALTIME, TierProfile.STANDARD):
            tiers.append(_tier(f"{name}-{profile.value}", profile, concurrency))
        tenant = tenant_create(name=name)
        _, secret = api_key_issue(tenant=tenant, tier=tiers[-1], name=name)
        version = tone_import(name, tone_config).key
        route_create(name=name, description="A benchmark's tones.", is_public=True)
        route_set(name, {version: 100}, ACTOR)
        yield Guest(key=secret, realtime=tiers[0].name, standard=tiers[1].name, tone=name)
    finally:
        if version:
            _tone_remove(name, version)
        _tenant_remove(tenant, tiers)


def _tier(name: str, profile: TierProfile, concurrency: int) -> QualityTier:
    """A tier above all others: a key may use those up to its own."""
    highest = QualityTier.objects.aggregate(rank=Max("rank"))["rank"] or 0
    realtime = profile is TierProfile.REALTIME
    return tier_create(
        name=name,
        rank=highest + 1,
        priority=TierPriority.REALTIME.value if realtime else TierPriority.STANDARD.value,
        profile=profile.value,
        concurrency=concurrency,
        requests_per_minute=REQUESTS_PER_MINUTE,
        characters_per_minute=CHARACTERS_PER_MINUTE,
        max_characters=MAX_CHARACTERS,
        max_queue_seconds=MAX_QUEUE_SECONDS,
    )


def _tone_remove(route: str, version_key: str) -> None:
    """The version's row stays, retired: the route's history names it."""
    route_delete(route, ACTOR)
    version = ModelVersion.objects.get(key=version_key)
    if version.state == VersionState.READY:
        version_transition(version, VersionState.READY, VersionState.RETIRED)


@transaction.atomic
def _tenant_remove(tenant: Tenant | None, tiers: list[QualityTier]) -> None:
    if tenant is not None:
        # An operator only revokes and deactivates; these rows were this run's own.
        ApiKey.objects.filter(tenant=tenant).delete()
        tenant.delete()
    for tier in tiers:
        tier_delete(tier=tier)
