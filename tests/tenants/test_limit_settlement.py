"""What a request held comes back once: when it ends, is cancelled, or its process dies."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from redis.asyncio import Redis

from tenants.errors import LimitExceeded, TextTooLong
from tenants.limits import Limiter
from tenants.principal import Principal
from tenants.reservation import LEASE_SECONDS, Reservation
from tests.tenants.callers import Clock, principal_for, tier_spec_for


async def take(limiter: Limiter, caller: Principal, characters: int, name: str) -> Reservation:
    return await limiter.reserve(
        principal=caller, tier=caller.tier, request_id=name, characters=characters
    )


async def left(limiter: Limiter, caller: Principal) -> tuple[int, int]:
    """Characters and slots, asked without taking any."""
    held = await take(limiter, caller, 0, "probe")
    await limiter.settle(held, 0)
    return held.rates.characters.remaining, held.rates.slots_remaining + 1


@pytest.fixture
def limiter(redis_loop: Redis, clock: Clock) -> Limiter:
    return Limiter(redis_loop, clock=clock)


async def test_unspoken_characters_and_the_slot_come_back(limiter: Limiter) -> None:
    caller = principal_for()
    held = await take(limiter, caller, 1_000, "r1")
    assert await left(limiter, caller) == (119_000, 9)
    assert await limiter.settle(held, 400)
    assert await left(limiter, caller) == (119_600, 10)


async def test_second_settlement_changes_nothing(limiter: Limiter) -> None:
    caller = principal_for()
    held = await take(limiter, caller, 1_000, "r1")
    assert await limiter.settle(held, 900)
    assert not await limiter.settle(held, 0)
    assert await left(limiter, caller) == (119_100, 10)


async def test_refund_never_exceeds_the_budget(limiter: Limiter, clock: Clock) -> None:
    caller = principal_for()
    held = await take(limiter, caller, 1_000, "r1")
    clock.advance(20)
    await limiter.renew(held)
    clock.advance(20)
    assert await limiter.settle(held, 0)
    assert await left(limiter, caller) == (120_000, 10)


async def test_text_that_arrives_later_is_added_to_the_same_request(limiter: Limiter) -> None:
    caller = principal_for(tier_spec_for(concurrency=1, requests_per_minute=1))
    held = await take(limiter, caller, 0, "r1")
    held = await limiter.extend(held, characters=300)
    held = await limiter.extend(held, characters=200)
    assert held.characters == 500
    assert held.rates.requests.remaining == 0
    await limiter.settle(held, 100)
    assert held.rates.characters.remaining == 119_500


async def test_refused_extension_leaves_the_request_as_it_was(limiter: Limiter) -> None:
    caller = principal_for(tier_spec_for(characters_per_minute=300, max_characters=1_000))
    held = await take(limiter, caller, 200, "r1")
    with pytest.raises(LimitExceeded):
        await limiter.extend(held, characters=200)
    with pytest.raises(TextTooLong):
        await limiter.extend(held, characters=801)
    assert await limiter.settle(held, 200)
    assert await left(limiter, caller) == (100, 10)


async def test_lowered_concurrency_does_not_end_a_running_request(limiter: Limiter) -> None:
    caller = principal_for(tier_spec_for(concurrency=2))
    first = await take(limiter, caller, 1, "a")
    await take(limiter, caller, 1, "b")
    key, tenant = (replace(scope, concurrency=1) for scope in first.scopes)
    held = await limiter.extend(replace(first, scopes=(key, tenant)), characters=10)
    assert held.characters == 11


async def test_dead_process_frees_its_slots(limiter: Limiter, clock: Clock) -> None:
    caller = principal_for(tier_spec_for(concurrency=1))
    held = await take(limiter, caller, 100, "dead")
    clock.advance(LEASE_SECONDS - 0.001)
    with pytest.raises(LimitExceeded):
        await take(limiter, caller, 100, "next")
    clock.advance(0.001)
    await take(limiter, caller, 100, "next")
    assert not await limiter.renew(held)
    assert not await limiter.settle(held, 0)


async def test_renewal_does_not_bring_an_ended_lease_back(limiter: Limiter, clock: Clock) -> None:
    held = await take(limiter, principal_for(), 100, "late")
    clock.advance(LEASE_SECONDS)
    assert not await limiter.renew(held)


async def test_renewal_keeps_the_slot(limiter: Limiter, clock: Clock) -> None:
    caller = principal_for(tier_spec_for(concurrency=1))
    held = await take(limiter, caller, 100, "long")
    for _ in range(12):
        clock.advance(10)
        assert await limiter.renew(held)
    with pytest.raises(LimitExceeded) as caught:
        await take(limiter, caller, 100, "next")
    assert caught.value.limit == "concurrency"
    await limiter.settle(held, 100)
    assert not await limiter.renew(held)
    await take(limiter, caller, 100, "next")


async def test_late_extension_does_not_bring_a_settled_request_back(limiter: Limiter) -> None:
    caller = principal_for()
    held = await take(limiter, caller, 100, "r1")
    await limiter.settle(held, 100)
    await limiter.extend(held, characters=100)
    assert await left(limiter, caller) == (119_800, 10)


class SlowScript:
    """A script whose reply arrives only when a test says so."""

    def __init__(self, script: Any) -> None:
        self.script = script
        self.done = asyncio.Event()
        self.reply = asyncio.Event()

    async def __call__(self, **arguments: Any) -> Any:
        result = await self.script(**arguments)
        self.done.set()
        await self.reply.wait()
        return result


async def test_cancelled_reservation_gives_everything_back(
    limiter: Limiter, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller = principal_for()
    slow = SlowScript(limiter._reserve)
    with monkeypatch.context() as patch:
        patch.setattr(limiter, "_reserve", slow)
        task = asyncio.create_task(take(limiter, caller, 1_000, "gone"))
        await slow.done.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        slow.reply.set()
        await limiter.aclose()
    assert await left(limiter, caller) == (120_000, 10)


async def test_cancelled_extension_stays_with_its_owner(
    limiter: Limiter, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller = principal_for()
    held = await take(limiter, caller, 1_000, "r1")
    slow = SlowScript(limiter._reserve)
    with monkeypatch.context() as patch:
        patch.setattr(limiter, "_reserve", slow)
        task = asyncio.create_task(limiter.extend(held, characters=500))
        await slow.done.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        slow.reply.set()
        await limiter.aclose()
    assert await limiter.settle(held, 0)
    assert await left(limiter, caller) == (120_000, 10)


async def test_cancelled_settlement_runs_to_its_end(
    limiter: Limiter, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller = principal_for()
    held = await take(limiter, caller, 1_000, "r1")
    task = asyncio.create_task(limiter.settle(held, 0))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await limiter.aclose()
    assert await left(limiter, caller) == (120_000, 10)
