"""What a running request holds in Redis: its reservation and its lease on a version."""

from collections.abc import Awaitable

import structlog

from tenants.principal import Principal, TierSpec
from tenants.reservation import Reservation
from tts.engine.traces import trace_of
from tts.speech.order import SpeechOrder
from tts.speech.plan import Planner, SpeechPlan
from tts.speech.ports import Limiter, RouteLeases

log = structlog.get_logger(__name__)

_LEASE_TRIES = 3


class Hold:
    """The reservation and the lease of one request, kept alive by the process's keeper.

    `name` is what both are held by (see `coordination.holds`).
    """

    def __init__(self, limiter: Limiter, leases: RouteLeases, name: str) -> None:
        self._limiter = limiter
        self._leases = leases
        self.name = name
        self._reservation: Reservation | None = None
        self.version: str | None = None

    def headers(self) -> dict[str, str]:
        """The x-ratelimit-* headers."""
        return dict(self._reservation.headers()) if self._reservation is not None else {}

    async def reserve(self, principal: Principal, tier: TierSpec, characters: int) -> None:
        """Hold a slot and the characters; raises the tenant's limit errors."""
        self._reservation = await self._limiter.reserve(
            principal=principal, tier=tier, request_id=self.name, characters=characters
        )

    async def extend(self, characters: int) -> None:
        """Hold more characters; raises the tenant's limit errors."""
        if self._reservation is not None:
            self._reservation = await self._limiter.extend(self._reservation, characters=characters)

    async def lease(self, planner: Planner, principal: Principal, order: SpeechOrder) -> SpeechPlan:
        """A plan whose version is leased under the configuration that chose it.

        A drain waits until every process has seen the new route and no lease
        is left. A lease taken after this process saw the change would escape
        it, so the plan is made again when the epoch moved on meanwhile.
        """
        for _ in range(_LEASE_TRIES):
            plan = await planner.plan(principal, order)
            # Before the call: one that is cancelled may have been carried out.
            self.version = plan.routed.version
            await self._leases.acquire(self.version, self.name)
            if await planner.epoch() == plan.epoch:
                return plan
            await self._leases.release(self.version, self.name)
            self.version = None
        plan = await planner.plan(principal, order)
        self.version = plan.routed.version
        await self._leases.acquire(self.version, self.name)
        return plan

    async def renew(self) -> None:
        """Keep the reservation for another while."""
        if self._reservation is not None:
            await self._limiter.renew(self._reservation)

    async def lease_again(self) -> None:
        """Take the lease anew where it was lost (Redis lost its memory, or was away too long)."""
        if self.version is not None:
            await self._leases.acquire(self.version, self.name)

    async def release(self, characters_spoken: int) -> None:
        """Give both back; a failure is logged, since both expire by themselves."""
        version, self.version = self.version, None
        reservation, self._reservation = self._reservation, None
        if version is not None:
            await _tolerant(self._leases.release(version, self.name), "lease_release_failed")
        if reservation is not None:
            await _tolerant(self._limiter.settle(reservation, characters_spoken), "settle_failed")


async def _tolerant(call: Awaitable[object], event: str) -> None:
    try:
        await call
    except Exception as error:  # noqa: BLE001 - whatever failed, the request has ended
        log.error(event, trace=trace_of(error))
