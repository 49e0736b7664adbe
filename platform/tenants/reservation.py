"""What a request holds of its key's and its tenant's limits, as plain values."""

import math
from dataclasses import dataclass

from coordination import keys
from tenants.errors import BudgetTooSmall
from tenants.principal import Principal, TierSpec

LEASE_SECONDS = 30.0
"""A slot whose owner has not renewed it for this long counts as free."""


@dataclass(frozen=True, slots=True)
class LimitScope:
    """The limits of one subject ("key" or "tenant") and the Redis keys that count them.

    Each tier is counted apart; limits that a tenant sets itself are counted
    over all tiers together.
    """

    scope: str
    subject: str
    requests_per_minute: int
    characters_per_minute: int
    concurrency: int
    requests_key: str
    characters_key: str
    leases_key: str

    @property
    def redis_keys(self) -> tuple[str, str, str]:
        """Requests, characters, leases: the order of the scripts."""
        return self.requests_key, self.characters_key, self.leases_key

    @property
    def limits(self) -> tuple[int, int, int]:
        """Requests and characters a minute, concurrency: the order of the scripts."""
        return self.requests_per_minute, self.characters_per_minute, self.concurrency

    def check_characters(self, characters: int) -> None:
        """Raise BudgetTooSmall where a whole minute does not allow so many; ValueError below 0."""
        if characters < 0:
            raise ValueError(f"characters is {characters}; it cannot be negative")
        if characters > self.characters_per_minute:
            raise BudgetTooSmall(characters, self.scope, self.characters_per_minute)


_Own = tuple[int | None, int | None, int | None]


def limit_scopes(principal: Principal, tier: TierSpec) -> tuple[LimitScope, LimitScope]:
    """The limits that a request of `principal` in `tier` is counted against: key, tenant."""

    def scope(
        name: str, subject: str, own: tuple[int | None, int | None, int | None]
    ) -> LimitScope:
        def key(what: str, limit: int | None) -> str:
            return keys.limit(name, subject, what if limit is not None else f"{tier.name}.{what}")

        requests, characters, concurrency = own
        return LimitScope(
            scope=name,
            subject=subject,
            requests_per_minute=requests or tier.requests_per_minute,
            characters_per_minute=characters or tier.characters_per_minute,
            concurrency=concurrency or tier.concurrency,
            requests_key=key("requests", requests),
            characters_key=key("characters", characters),
            leases_key=key("leases", concurrency),
        )

    own = principal.tenant_limits
    return (
        scope("key", principal.key_id, (None, None, None)),
        scope(
            "tenant",
            principal.tenant_id,
            (own.requests_per_minute, own.characters_per_minute, own.concurrency),
        ),
    )


@dataclass(frozen=True, slots=True)
class Rate:
    """One limit a minute: how much is left, and seconds until all of it is back."""

    limit: int
    remaining: int
    reset_seconds: float


@dataclass(frozen=True, slots=True)
class Rates:
    """The tighter of key and tenant, for requests, characters and slots."""

    requests: Rate
    characters: Rate
    slots_remaining: int

    def headers(self) -> dict[str, str]:
        """`x-ratelimit-*`, names in lower case; times as OpenAI writes them ("12ms", "1.5s")."""
        headers = {}
        for name, rate in (("requests", self.requests), ("characters", self.characters)):
            headers[f"x-ratelimit-limit-{name}"] = str(rate.limit)
            headers[f"x-ratelimit-remaining-{name}"] = str(rate.remaining)
            headers[f"x-ratelimit-reset-{name}"] = _duration(rate.reset_seconds)
        return headers


@dataclass(frozen=True, slots=True)
class Reservation:
    """A request that was let in; it ends by `Limiter.settle`, or 30 s after its last renewal.

    `characters` are code points taken so far. `epoch` is the configuration
    epoch that the same call read ("" where none is set).
    """

    request_id: str
    scopes: tuple[LimitScope, LimitScope]
    characters: int
    max_characters: int
    tier: str
    epoch: str
    rates: Rates

    def headers(self) -> dict[str, str]:
        """The rate limit headers of the response."""
        return self.rates.headers()


def _duration(seconds: float) -> str:
    milliseconds = math.ceil(seconds * 1000)
    return f"{milliseconds}ms" if milliseconds < 1000 else f"{milliseconds / 1000:g}s"
