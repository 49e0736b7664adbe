"""Request, character and concurrency limits: one Lua call a request, atomic in Redis.

Rates are token buckets (capacity: one minute's budget, refilled continuously),
held per key and per tenant. Concurrency is a sorted set of leases that expire
unless renewed, so a dead process frees what it held. Time is the Redis
server's. The call that reserves also returns the configuration epoch.
"""

import asyncio
import math
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import redis.asyncio
from redis.exceptions import RedisError

from coordination import keys
from coordination.epoch import ConfigCache
from tenants.errors import LimiterUnavailable, LimitExceeded, TextTooLong
from tenants.principal import Principal, TierSpec
from tenants.releases import Releases, Scopes
from tenants.reservation import LEASE_SECONDS, Rate, Rates, Reservation, limit_scopes

T = TypeVar("T")
SLOT_RETRY_SECONDS = 1.0
"""Advice where all slots are taken: when one is freed depends on the tenant's own requests."""
_MICRO = 1_000_000
_MINUTE = 60 * _MICRO
_LIMITS = ("requests", "characters", "concurrency")
_LUA = Path(__file__).with_name("lua")


def _script(name: str) -> str:
    return (_LUA / "bucket.lua").read_text() + (_LUA / f"{name}.lua").read_text()


class Limiter:
    """Counts requests against the limits of their keys and tenants; one per event loop.

    `clock` gives microseconds in place of the Redis server's clock (tests).
    """

    def __init__(
        self,
        client: redis.asyncio.Redis,
        cache: ConfigCache | None = None,
        *,
        clock: Callable[[], int] | None = None,
    ) -> None:
        self._cache = cache
        self._clock = clock
        self._reserve = client.register_script(_script("reserve"))
        self._renew = client.register_script(_script("renew"))
        self._settle = client.register_script(_script("settle"))
        self._background: set[asyncio.Task[Any]] = set()
        self._releases = Releases(self._settle_now)

    async def reserve(
        self, *, principal: Principal, tier: TierSpec, request_id: str, characters: int
    ) -> Reservation:
        """Let a request in and take `characters` code points (0 where text is still to come).

        Raises TextTooLong (above the tier's longest text), BudgetTooSmall (above a
        minute's budget, never retryable), LimitExceeded with the exact wait, or
        LimiterUnavailable. A refusal takes nothing. Where Redis does not answer, or the
        caller is cancelled, slot and characters are given back (once Redis answers again;
        one that was silent for LEASE_SECONDS lets them end by themselves); the request
        stays counted until it refills, 60 s by the requests a minute.
        """
        tier.check_characters(characters)
        scopes = limit_scopes(principal, tier)
        return await self._take(
            Reservation(
                request_id=request_id,
                scopes=scopes,
                characters=0,
                max_characters=tier.max_characters,
                tier=tier.name,
                epoch="",
                rates=Rates(Rate(0, 0, 0.0), Rate(0, 0, 0.0), 0),
            ),
            requests=1,
            characters=characters,
        )

    async def extend(self, reservation: Reservation, *, characters: int) -> Reservation:
        """Take `characters` more for text that arrived later; raises as `reserve` does.

        Returns the reservation that replaces the given one, which stays good when this raises.
        Where Redis does not answer, they are given back as those of `reserve` are.
        """
        total = reservation.characters + characters
        if total > reservation.max_characters:
            raise TextTooLong(total, reservation.tier, reservation.max_characters)
        return await self._take(reservation, requests=0, characters=characters)

    async def renew(self, reservation: Reservation) -> bool:
        """Hold the slot for another 30 s; False where the lease had already ended."""
        key, tenant = reservation.scopes
        held = await self._call(
            self._renew(
                keys=[key.leases_key, tenant.leases_key],
                args=[self._now(), reservation.request_id, _LEASE],
            )
        )
        return bool(held)

    async def settle(self, reservation: Reservation, characters_spoken: int) -> bool:
        """Free the slot and give back the characters that were not spoken.

        Only the first call has an effect (True). It runs to its end when the caller
        is cancelled. A reservation whose lease expired keeps its characters.
        """
        unused = max(0, reservation.characters - max(0, characters_spoken))
        return await self._shielded(self._free(reservation.scopes, reservation.request_id, unused))

    async def aclose(self) -> None:
        """Wait for calls whose callers were cancelled; give up those Redis does not answer."""
        while self._background:
            await asyncio.wait(set(self._background))
        await self._releases.aclose()

    async def _take(
        self, reservation: Reservation, *, requests: int, characters: int
    ) -> Reservation:
        for scope in reservation.scopes:
            scope.check_characters(characters)
        # Of its own for each: a repeated command must find it, another taking must not.
        taking = uuid4().hex
        lease = reservation.request_id if requests else taking
        call = self._ask(reservation, requests, characters, taking, lease)

        def undo(reply: list[Any]) -> Coroutine[Any, Any, bool] | None:
            # The caller went away while Redis answered: nobody would settle what was
            # taken. A request that was being extended still belongs to its owner.
            if reply[0]:
                return None
            return self._free(reservation.scopes, lease, characters)

        refused, wait, epoch, *state = await self._shielded(call, undo)
        text = epoch.decode() if isinstance(epoch, bytes) else epoch
        if text and self._cache is not None:
            self._cache.observe(text)
        rates = _rates(reservation.scopes, state, taken=not refused)
        if refused:
            raise _refusal(reservation.scopes, refused, wait / _MICRO, rates)
        total = reservation.characters + characters
        return replace(reservation, characters=total, epoch=text, rates=rates)

    def _ask(
        self, reservation: Reservation, requests: int, characters: int, taking: str, lease: str
    ) -> Coroutine[Any, Any, Any]:
        """The script's reply; what is not answered is given back later, by `lease`."""
        key, tenant = reservation.scopes
        return self._call(
            self._reserve(
                keys=[
                    keys.CONFIG_EPOCH,
                    *key.redis_keys,
                    *tenant.redis_keys,
                    keys.limit_taken(taking),
                ],
                args=[
                    self._now(),
                    reservation.request_id,
                    requests,
                    characters,
                    _LEASE,
                    round(SLOT_RETRY_SECONDS * _MICRO),
                    *key.limits,
                    *tenant.limits,
                ],
            ),
            (reservation.scopes, lease, characters),
        )

    async def _settle_now(self, scopes: Scopes, lease: str, unused: int) -> bool:
        key, tenant = scopes
        settled = await self._call(
            self._settle(
                keys=[
                    key.leases_key,
                    key.characters_key,
                    tenant.leases_key,
                    tenant.characters_key,
                    keys.limit_taken(lease),
                ],
                args=[
                    self._now(),
                    lease,
                    unused,
                    key.characters_per_minute,
                    tenant.characters_per_minute,
                ],
            )
        )
        return bool(settled)

    async def _shielded(
        self,
        call: Coroutine[Any, Any, T],
        undo: Callable[[T], Coroutine[Any, Any, Any] | None] | None = None,
    ) -> T:
        """Await `call` to its end even when cancelled; `undo` then takes back what it did."""
        task = self._spawn(call)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if undo is not None:
                self._spawn(_undo(task, undo))
            raise

    def _spawn(self, call: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        task = asyncio.ensure_future(call)
        self._background.add(task)
        task.add_done_callback(self._forget)
        return task

    def _forget(self, task: "asyncio.Task[Any]") -> None:
        self._background.discard(task)
        if not task.cancelled():
            # Read, or asyncio reports it as lost when the caller is gone.
            task.exception()

    async def _free(self, scopes: Scopes, lease: str, unused: int) -> bool:
        """Settle, in the end also where Redis does not answer now."""
        try:
            return await self._settle_now(scopes, lease, unused)
        except LimiterUnavailable:
            self._releases.add(scopes, lease, unused)
            raise

    async def _call(self, call: Any, unknown: tuple[Scopes, str, int] | None = None) -> Any:
        """Await a script; `unknown` is what it may have taken when Redis does not answer."""
        try:
            return await call
        except RedisError as error:
            if unknown is not None:
                self._releases.add(*unknown)
            raise LimiterUnavailable from error

    def _now(self) -> str:
        return "" if self._clock is None else str(self._clock())


_LEASE = round(LEASE_SECONDS * _MICRO)


async def _undo(
    task: "asyncio.Task[T]", undo: Callable[[T], Coroutine[Any, Any, Any] | None]
) -> None:
    back = undo(await task)
    if back is not None:
        await back


def _rates(scopes: Scopes, state: list[int], *, taken: bool) -> Rates:
    def tighter(kind: int) -> Rate:
        return min(
            (
                _rate(scope.limits[kind], int(state[3 * index + kind]))
                for index, scope in enumerate(scopes)
            ),
            key=lambda rate: rate.remaining,
        )

    slots = min(
        scope.concurrency - int(state[3 * index + 2]) - taken for index, scope in enumerate(scopes)
    )
    return Rates(tighter(0), tighter(1), max(0, slots))


def _rate(limit: int, level: int) -> Rate:
    missing = limit * _MINUTE - level
    return Rate(limit, level // _MINUTE, math.ceil(missing / limit) / _MICRO)


def _refusal(scopes: Scopes, refused: int, wait: float, rates: Rates) -> LimitExceeded:
    scope = scopes[(refused - 1) // 3]
    kind = (refused - 1) % 3
    limit = scope.limits[kind]
    whose = "this API key" if scope.scope == "key" else "this account"
    message = (
        f"All {limit} concurrent requests of {whose} are in use: wait until one ends."
        if kind == 2
        else f"The limit of {limit} {_LIMITS[kind]} a minute of {whose} is reached: "
        f"try again in {wait:.3f} s."
    )
    return LimitExceeded(
        message,
        limit=_LIMITS[kind],
        scope=scope.scope,
        retry_after=wait,
        rate_headers=rates.headers(),
    )
