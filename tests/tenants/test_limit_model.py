"""Whatever happens in whatever order, the limiter says what a plain model says."""

import asyncio
import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import pytest
import redis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis.asyncio import Redis

from tenants.errors import BudgetTooSmall, LimitExceeded
from tenants.limits import Limiter
from tenants.principal import TenantLimits
from tenants.reservation import LEASE_SECONDS, Reservation
from tests.tenants.callers import Clock, principal_for, tier_spec_for

MICRO = 1_000_000


@dataclass
class Bucket:
    """A token bucket in exact fractions."""

    limit: int
    tokens: Fraction
    at: int

    def level(self, now: int) -> Fraction:
        grown = self.tokens + Fraction(max(0, now - self.at) * self.limit, 60 * MICRO)
        return min(grown, Fraction(self.limit))

    def change(self, by: int, now: int) -> None:
        self.tokens = min(self.level(now) + by, Fraction(self.limit))
        self.at = now

    def wait(self, cost: int, now: int) -> int:
        return max(0, math.ceil((cost - self.level(now)) * 60 * MICRO / self.limit))


@dataclass
class Subject:
    """One key's or tenant's limits."""

    requests: Bucket
    characters: Bucket
    concurrency: int
    leases: dict[str, int] = field(default_factory=dict)

    def waits(self, name: str, characters: int, now: int) -> list[int]:
        self.leases = {lease: end for lease, end in self.leases.items() if end > now}
        full = name not in self.leases and len(self.leases) >= self.concurrency
        return [
            self.requests.wait(1, now),
            self.characters.wait(characters, now),
            MICRO if full else 0,
        ]


class Model:
    """What the limiter promises."""

    def __init__(self, limits: list[tuple[int, int, int]], now: int) -> None:
        self.subjects = [
            Subject(
                Bucket(requests, Fraction(requests), now),
                Bucket(characters, Fraction(characters), now),
                slots,
            )
            for requests, characters, slots in limits
        ]

    def reserve(self, name: str, characters: int, now: int) -> int:
        """The wait in microseconds; 0: let in."""
        wait = max(max(subject.waits(name, characters, now)) for subject in self.subjects)
        if wait == 0:
            for subject in self.subjects:
                subject.requests.change(-1, now)
                subject.characters.change(-characters, now)
                subject.leases[name] = now + LEASE
        return wait

    def renew(self, name: str, now: int) -> bool:
        held = self.subjects[0].leases.get(name, now) > now
        for subject in self.subjects:
            if subject.leases.get(name, now) > now:
                subject.leases[name] = now + LEASE
        return held

    def settle(self, name: str, unused: int, now: int) -> bool:
        held = [subject.leases.pop(name, None) for subject in self.subjects]
        if held[0] is None:
            return False
        for subject in self.subjects:
            if unused:
                subject.characters.change(unused, now)
        return True


LEASE = round(LEASE_SECONDS * MICRO)
PASSES = st.integers(0, 20 * MICRO) | st.sampled_from((1, LEASE - 1, LEASE, 60 * MICRO))
ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("reserve"), st.integers(0, 2), st.integers(0, 400)),
        st.tuples(st.just("settle"), st.integers(0, 2), st.integers(0, 400)),
        st.tuples(st.just("renew"), st.integers(0, 2), st.just(0)),
        st.tuples(st.just("pass"), PASSES, st.just(0)),
    ),
    min_size=5,
    max_size=60,
)
LIMITS = st.tuples(st.integers(1, 40), st.integers(1, 1000), st.integers(1, 4))


async def play(
    url: str,
    tier_limits: tuple[int, int, int],
    tenant_limits: tuple[int, int, int],
    actions: list[tuple[str, int, int]],
) -> None:
    clock = Clock()
    requests, characters, slots = tier_limits
    tier = tier_spec_for(
        requests_per_minute=requests, characters_per_minute=characters, concurrency=slots
    )
    caller = principal_for(
        tier,
        limits=TenantLimits(
            requests_per_minute=tenant_limits[0],
            characters_per_minute=tenant_limits[1],
            concurrency=tenant_limits[2],
        ),
    )
    model = Model([tier_limits, tenant_limits], clock())
    held: dict[str, Reservation] = {}
    async with Redis.from_url(url) as client:
        limiter = Limiter(client, clock=clock)
        for what, which, amount in actions:
            name = f"r{which}"
            if what == "pass":
                clock.now += which
            elif what == "reserve":
                await compare_reserve(limiter, model, caller, name, amount, clock(), held)
            elif name in held and what == "renew":
                assert await limiter.renew(held[name]) == model.renew(name, clock())
            elif name in held:
                unused = max(0, held[name].characters - amount)
                assert await limiter.settle(held[name], amount) == model.settle(
                    name, unused, clock()
                )


async def compare_reserve(
    limiter: Limiter,
    model: Model,
    caller: Any,
    name: str,
    amount: int,
    now: int,
    held: dict[str, Reservation],
) -> None:
    smallest = min(subject.characters.limit for subject in model.subjects)
    try:
        reservation = await limiter.reserve(
            principal=caller, tier=caller.tier, request_id=name, characters=amount
        )
    except BudgetTooSmall:
        assert amount > smallest
        return
    except LimitExceeded as error:
        wait = round((error.retry_after or 0) * MICRO)
    else:
        wait = 0
    assert amount <= smallest
    assert model.reserve(name, amount, now) == wait
    if wait == 0:
        held[name] = reservation
        rates = reservation.rates
        assert rates.characters.remaining == min(
            math.floor(subject.characters.level(now)) for subject in model.subjects
        )
        assert rates.requests.remaining == min(
            math.floor(subject.requests.level(now)) for subject in model.subjects
        )
        assert rates.slots_remaining == min(
            subject.concurrency - len(subject.leases) for subject in model.subjects
        )


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(tier_limits=LIMITS, tenant_limits=LIMITS, actions=ACTIONS)
def test_limiter_agrees_with_the_model(
    redis_server: str,
    tier_limits: tuple[int, int, int],
    tenant_limits: tuple[int, int, int],
    actions: list[tuple[str, int, int]],
) -> None:
    with asyncio.Runner() as runner:
        runner.run(play(redis_server, tier_limits, tenant_limits, actions))


def test_largest_limits_stay_exact(redis_server: str) -> None:
    largest = 50_000_000

    async def run() -> None:
        clock = Clock()
        caller = principal_for(tier_spec_for(characters_per_minute=largest, max_characters=largest))
        async with Redis.from_url(redis_server) as client:
            limiter = Limiter(client, clock=clock)
            first = await limiter.reserve(
                principal=caller, tier=caller.tier, request_id="a", characters=largest
            )
            assert first.rates.characters.remaining == 0
            clock.now += 1  # grows by 50,000,000 / 60,000,000 of a character
            with pytest.raises(LimitExceeded) as caught:
                await limiter.reserve(
                    principal=caller, tier=caller.tier, request_id="b", characters=1
                )
            assert caught.value.retry_after == 0.000001
            clock.now += 1
            second = await limiter.reserve(
                principal=caller, tier=caller.tier, request_id="b", characters=1
            )
            assert second.rates.characters.remaining == 0

    with asyncio.Runner() as runner:
        runner.run(run())
    with redis.Redis.from_url(redis_server) as client:
        client.flushdb()
