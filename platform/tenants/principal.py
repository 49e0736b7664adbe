"""Who is calling, and what they may ask for: plain values that any process may pass around."""

from dataclasses import dataclass
from datetime import datetime

from tenants.choices import Scope, TierPriority, TierProfile
from tenants.errors import (
    ModelNotAllowed,
    ScopeMissing,
    TextTooLong,
    TierNotAllowed,
    UnknownTier,
)


@dataclass(frozen=True, slots=True)
class TierSpec:
    """A quality tier as it was when the caller was authenticated.

    Limits are per key, and per tenant where the tenant sets none itself.
    `allowed_models` are the only models that the tier may use, also those that
    are not public; empty, it may use every public one.
    """

    name: str
    rank: int
    priority: TierPriority
    profile: TierProfile
    concurrency: int
    requests_per_minute: int
    characters_per_minute: int
    max_characters: int
    max_queue_seconds: float
    allowed_models: tuple[str, ...] = ()

    def includes(self, model: str, *, is_public: bool) -> bool:
        """Whether the tier may use `model`."""
        return model in self.allowed_models if self.allowed_models else is_public

    def check_characters(self, characters: int) -> None:
        """Raise TextTooLong for more code points than one request may have."""
        if characters > self.max_characters:
            raise TextTooLong(characters, self.name, self.max_characters)


@dataclass(frozen=True, slots=True)
class TenantLimits:
    """Limits that a tenant sets for all its keys and tiers together; None: the tier's."""

    concurrency: int | None = None
    requests_per_minute: int | None = None
    characters_per_minute: int | None = None


@dataclass(frozen=True, slots=True)
class Principal:
    """An authenticated caller.

    `tier` is the key's own; `tiers` are all it may ask for (rank at most its
    own, lowest first); `known_tiers` names every tier there is. `expires_at`
    is when the key (or the token that stands for it) ends.
    """

    tenant_id: str
    tenant_slug: str
    key_id: str
    key_prefix: str
    tier: TierSpec
    tiers: tuple[TierSpec, ...]
    scopes: frozenset[Scope]
    expires_at: datetime | None = None
    tenant_limits: TenantLimits = TenantLimits()
    known_tiers: tuple[str, ...] = ()

    def tier_for(self, requested: str | None, default: str | None = None) -> TierSpec:
        """The tier to serve a request with.

        `requested` is what the request names, `default` the route's own tier.
        A default above the key's rank gives the key's own tier: nobody asked
        for more. Raises TierNotAllowed or UnknownTier for a request by name.
        """
        allowed = {tier.name: tier for tier in self.tiers}
        if requested is None:
            return allowed.get(default, self.tier) if default is not None else self.tier
        if requested in allowed:
            return allowed[requested]
        if requested in self.known_tiers:
            raise TierNotAllowed(requested, allowed)
        raise UnknownTier(requested, allowed)

    def check_model(self, model: str, tier: TierSpec, *, is_public: bool) -> None:
        """Raise ModelNotAllowed where `tier`, which would serve, does not include `model`."""
        if not tier.includes(model, is_public=is_public):
            others = [item.name for item in self.tiers if item.includes(model, is_public=is_public)]
            raise ModelNotAllowed(model, tier.name, tier.allowed_models, others)

    def require_scope(self, scope: Scope) -> None:
        """Raise ScopeMissing where the caller lacks `scope`."""
        if scope not in self.scopes:
            raise ScopeMissing(scope.value, sorted(self.scopes))
