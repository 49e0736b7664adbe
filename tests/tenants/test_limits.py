"""A request takes from its key's and its tenant's limits, all or nothing."""

import asyncio

import pytest
import redis.asyncio
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from coordination.epoch import ConfigCache
from tenants.errors import BudgetTooSmall, LimiterUnavailable, LimitExceeded, TextTooLong
from tenants.limits import Limiter
from tenants.principal import Principal, TenantLimits, TierSpec
from tenants.reservation import Reservation
from tests.tenants.callers import Clock, principal_for, tier_spec_for


async def take(
    limiter: Limiter, caller: Principal, characters: int = 100, name: str = "r1"
) -> Reservation:
    return await limiter.reserve(
        principal=caller, tier=caller.tier, request_id=name, characters=characters
    )


@pytest.fixture
def limiter(redis_loop: Redis, clock: Clock) -> Limiter:
    return Limiter(redis_loop, clock=clock)


async def test_request_within_the_limits_is_let_in(limiter: Limiter) -> None:
    held = await take(limiter, principal_for())
    assert held.characters == 100
    assert held.rates.slots_remaining == 9
    assert held.headers() == {
        "x-ratelimit-limit-requests": "300",
        "x-ratelimit-remaining-requests": "299",
        "x-ratelimit-reset-requests": "200ms",
        "x-ratelimit-limit-characters": "120000",
        "x-ratelimit-remaining-characters": "119900",
        "x-ratelimit-reset-characters": "50ms",
    }


async def test_epoch_comes_with_the_reservation(redis_loop: Redis) -> None:
    async def read() -> str:
        raise AssertionError("the epoch was read again")

    cache = ConfigCache(read_epoch=read)
    limiter = Limiter(redis_loop, cache)
    assert (await take(limiter, principal_for())).epoch == ""
    await redis_loop.set("vh:epoch", "abc")
    assert (await take(limiter, principal_for())).epoch == "abc"
    assert await cache.epoch() == "abc"


async def test_requests_a_minute_are_refused_with_the_exact_wait(
    limiter: Limiter, clock: Clock
) -> None:
    caller = principal_for(tier_spec_for(requests_per_minute=6))
    for number in range(6):
        await take(limiter, caller, name=str(number))
    clock.advance(1.5)
    with pytest.raises(LimitExceeded) as caught:
        await take(limiter, caller, name="late")
    error = caught.value
    assert (error.status, error.type, error.code) == (
        429,
        "rate_limit_error",
        "rate_limit_exceeded",
    )
    assert (error.limit, error.scope, error.retry_after) == ("requests", "key", 8.5)
    assert error.should_retry is True
    assert error.rate_headers["x-ratelimit-remaining-requests"] == "0"
    clock.now += 8_499_999
    with pytest.raises(LimitExceeded):
        await take(limiter, caller, name="early")
    clock.now += 1
    await take(limiter, caller, name="due")


async def test_refusal_takes_nothing(limiter: Limiter) -> None:
    caller = principal_for(tier_spec_for(characters_per_minute=150))
    await take(limiter, caller, 100)
    for number in range(20):
        with pytest.raises(LimitExceeded) as caught:
            await take(limiter, caller, 51, name=f"x{number}")
        assert caught.value.limit == "characters"
        assert caught.value.param == "input"
    held = await take(limiter, caller, 50, name="fits")
    assert held.rates.requests.remaining == 298
    assert held.rates.slots_remaining == 8


async def test_longest_wait_is_the_one_named(limiter: Limiter) -> None:
    caller = principal_for(tier_spec_for(requests_per_minute=60, characters_per_minute=600))
    for _ in range(60):
        await take(limiter, caller, 10, name="same")
    with pytest.raises(LimitExceeded) as caught:
        await take(limiter, caller, 500, name="late")
    assert (caught.value.limit, caught.value.retry_after) == ("characters", 50.0)


async def test_text_above_the_longest_is_refused(limiter: Limiter) -> None:
    with pytest.raises(TextTooLong) as caught:
        await take(limiter, principal_for(), 5_001)
    assert caught.value.status == 400
    assert caught.value.code == "string_above_max_length"
    assert caught.value.param == "input"
    assert "5001" in caught.value.message
    assert "5000" in caught.value.message


async def test_text_above_a_whole_minute_is_not_worth_retrying(limiter: Limiter) -> None:
    with pytest.raises(BudgetTooSmall) as caught:
        await take(limiter, principal_for(tier_spec_for(characters_per_minute=99)), 100)
    assert caught.value.should_retry is False
    assert caught.value.retry_after is None
    assert caught.value.code == "insufficient_quota"
    await take(limiter, principal_for(tier_spec_for(characters_per_minute=100)), 100)


async def test_negative_count_is_a_bug_of_the_caller(limiter: Limiter) -> None:
    with pytest.raises(ValueError, match="-1"):
        await take(limiter, principal_for(), -1)


async def test_tenant_limits_of_its_own_hold_over_all_keys_and_tiers(limiter: Limiter) -> None:
    limits = TenantLimits(concurrency=2)
    first = principal_for(tier_spec_for("standard"), limits=limits)
    second = principal_for(tier_spec_for("hq"), tenant_id=first.tenant_id, limits=limits)
    await take(limiter, first, name="a")
    await take(limiter, second, name="b")
    with pytest.raises(LimitExceeded) as caught:
        await take(limiter, first, name="c")
    assert (caught.value.limit, caught.value.scope) == ("concurrency", "tenant")


async def test_without_its_own_a_tenants_keys_share_the_tiers_limits(limiter: Limiter) -> None:
    tier = tier_spec_for(requests_per_minute=3)
    first = principal_for(tier)
    second = principal_for(tier, tenant_id=first.tenant_id)
    for name in "ab":
        await take(limiter, first, name=name)
    await take(limiter, second, name="c")
    with pytest.raises(LimitExceeded) as caught:
        await take(limiter, second, name="d")
    assert caught.value.scope == "tenant"


async def test_tiers_are_counted_apart(limiter: Limiter) -> None:
    caller = principal_for(tier_spec_for("hq", requests_per_minute=1))
    await take(limiter, caller, name="a")
    with pytest.raises(LimitExceeded):
        await take(limiter, caller, name="b")
    other: TierSpec = tier_spec_for("standard")
    await limiter.reserve(principal=caller, tier=other, request_id="c", characters=1)


async def test_tenants_are_isolated(limiter: Limiter) -> None:
    tier = tier_spec_for(concurrency=1, requests_per_minute=1, characters_per_minute=100)
    greedy, other = principal_for(tier), principal_for(tier)
    await take(limiter, greedy)
    with pytest.raises(LimitExceeded):
        await take(limiter, greedy, name="r2")
    held = await take(limiter, other)
    assert held.rates.requests.remaining == 0


async def test_raised_limit_is_in_force_with_the_next_request(limiter: Limiter) -> None:
    caller = principal_for(tier_spec_for(concurrency=1))
    await take(limiter, caller)
    with pytest.raises(LimitExceeded):
        await take(limiter, caller, name="r2")
    raised = tier_spec_for(concurrency=2)
    await limiter.reserve(principal=caller, tier=raised, request_id="r2", characters=1)


async def test_fifty_at_once_get_exactly_what_there_is(redis_loop: Redis) -> None:
    limiter = Limiter(redis_loop)
    caller = principal_for(tier_spec_for(concurrency=7))
    outcomes = await asyncio.gather(
        *(take(limiter, caller, name=f"r{number}") for number in range(50)),
        return_exceptions=True,
    )
    let_in = [outcome for outcome in outcomes if isinstance(outcome, Reservation)]
    refused = [outcome for outcome in outcomes if isinstance(outcome, LimitExceeded)]
    assert (len(let_in), len(refused)) == (7, 43)
    assert {error.limit for error in refused} == {"concurrency"}
    assert await asyncio.gather(*(limiter.settle(held, 100) for held in let_in)) == [True] * 7
    again = await take(limiter, caller, name="again")
    assert again.rates.slots_remaining == 6


async def test_keys_expire(limiter: Limiter, redis_loop: Redis) -> None:
    await take(limiter, principal_for())
    names = [name async for name in redis_loop.scan_iter("vh:limit:*")]
    # Three of the key and of the tenant each, and the mark of the taking.
    assert len(names) == 7
    for name in names:
        assert 0 < await redis_loop.pttl(name) <= 61_000


async def test_scripts_are_loaded_again_after_the_server_lost_them(
    limiter: Limiter, redis_loop: Redis
) -> None:
    await take(limiter, principal_for())
    await redis_loop.script_flush()
    await take(limiter, principal_for())


async def test_without_redis_nothing_is_let_through_uncounted(tmp_path: object) -> None:
    client = redis.asyncio.Redis(unix_socket_path=f"{tmp_path}/none", retry=Retry(NoBackoff(), 0))
    with pytest.raises(LimiterUnavailable):
        await take(Limiter(client), principal_for())
    await client.aclose()
