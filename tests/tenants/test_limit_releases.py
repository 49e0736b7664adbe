"""A slot that may have been taken while Redis hung is free as soon as it answers again."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from coordination.connection import redis_async_for
from tenants import releases
from tenants.errors import LimiterUnavailable, LimitExceeded
from tenants.limits import Limiter
from tenants.principal import Principal
from tenants.releases import Releases
from tenants.reservation import LEASE_SECONDS, Reservation, limit_scopes
from tests.redis_server import eventually
from tests.tenants.callers import Clock, principal_for, tier_spec_for


@dataclass
class Line:
    """A way to a real server; `deaf` it loses commands, `silent` their answers.

    In place of the next `cuts` answers it ends the connection.
    """

    path: str
    deaf: bool = False
    silent: bool = False
    cuts: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server_reader, server_writer = await asyncio.open_unix_connection(self.path)
        back = asyncio.create_task(self._answer(server_reader, writer))
        with contextlib.suppress(ConnectionError):
            while sent := await reader.read(65_536):
                if not self.deaf:
                    server_writer.write(sent)
        back.cancel()
        server_writer.close()
        writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while answer := await reader.read(65_536):
            if self.cuts:
                self.cuts -= 1
                writer.close()
                return
            if not self.silent:
                writer.write(answer)


@pytest.fixture
async def line(redis_url: str) -> Line:
    return Line(redis_url.removeprefix("unix://"))


@pytest.fixture
async def limiter(
    line: Line, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Limiter]:
    monkeypatch.setattr("coordination.connection.ANSWER_SECONDS", 0.2)
    monkeypatch.setattr(releases, "RETRY_SECONDS", 0.0)
    async with await asyncio.start_server(line.serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        client = redis_async_for(f"redis://127.0.0.1:{port}")
        limiter = Limiter(client, clock=clock)
        yield limiter
        await limiter.aclose()
        await client.aclose()


async def take(limiter: Limiter, caller: Principal, name: str) -> Reservation:
    return await limiter.reserve(
        principal=caller, tier=caller.tier, request_id=name, characters=1_000
    )


async def free_again(limiter: Limiter, caller: Principal) -> Reservation:
    """What the caller holds once the only slot is free."""
    async with asyncio.timeout(10):
        while True:
            with contextlib.suppress(LimitExceeded):
                return await take(limiter, caller, "next")


@pytest.fixture
async def caller(limiter: Limiter) -> Principal:
    """One with a single slot, which was used before."""
    caller = principal_for(tier_spec_for(concurrency=1))
    await limiter.settle(await take(limiter, caller, "first"), 0)
    return caller


async def test_unanswered_reservation_is_given_back(
    limiter: Limiter, line: Line, caller: Principal
) -> None:
    line.silent = True
    with pytest.raises(LimiterUnavailable):
        await take(limiter, caller, "lost")
    line.silent = False
    held = await free_again(limiter, caller)
    assert held.rates.characters.remaining == 119_000


async def test_unanswered_reservation_of_a_caller_who_left_is_given_back(
    limiter: Limiter, line: Line, caller: Principal
) -> None:
    line.silent = True
    task = asyncio.create_task(take(limiter, caller, "lost"))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await eventually(lambda: bool(limiter._releases._waiting))
    line.silent = False
    await free_again(limiter, caller)


async def test_settlement_that_did_not_arrive_is_repeated(
    limiter: Limiter, line: Line, caller: Principal
) -> None:
    held = await take(limiter, caller, "spoken")
    line.deaf = True
    with pytest.raises(LimiterUnavailable):
        await limiter.settle(held, 400)
    line.deaf = False
    held = await free_again(limiter, caller)
    assert held.rates.characters.remaining == 118_600


@pytest.mark.parametrize("loss", ["silent", "deaf"])
async def test_unanswered_extension_is_given_back(limiter: Limiter, line: Line, loss: str) -> None:
    caller = principal_for()
    held = await take(limiter, caller, "spoken")
    setattr(line, loss, True)
    with pytest.raises(LimiterUnavailable):
        await limiter.extend(held, characters=500)
    setattr(line, loss, False)
    await eventually(lambda: not limiter._releases._waiting)
    held = await limiter.extend(held, characters=1)
    # What was never taken is not given back either.
    assert held.rates.characters.remaining == 120_000 - 1_001


async def test_repeated_command_takes_once(limiter: Limiter, line: Line) -> None:
    """The client repeats what was cut off before its answer, once."""
    caller = principal_for()
    await limiter.settle(await take(limiter, caller, "first"), 1_000)
    line.cuts = 1
    held = await take(limiter, caller, "second")
    assert line.cuts == 0
    line.cuts = 1
    held = await limiter.extend(held, characters=500)
    assert line.cuts == 0
    assert held.rates.requests.remaining == 298
    assert held.rates.characters.remaining == 120_000 - 2_500
    assert held.rates.slots_remaining == 9


class ScriptedSettle:
    """Answers in turn; nothing at all is an outage."""

    def __init__(self, *answers: bool | None) -> None:
        self.answers = list(answers)

    async def __call__(self, scopes: object, lease: str, unused: int) -> bool:
        answer = self.answers.pop(0)
        if answer is None:
            raise LimiterUnavailable
        return answer


@pytest.mark.parametrize(
    "answers",
    [(True,), (None, None, None, True), (False, True), (False, None, False)],
    ids=["held", "outage", "the command came in later", "never taken"],
)
async def test_release_ends_when_redis_has_told(
    answers: tuple[bool | None, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(releases, "RETRY_SECONDS", 0.0)
    settle = ScriptedSettle(*answers)
    waiting = Releases(settle)
    caller = principal_for()
    waiting.add(limit_scopes(caller, caller.tier), "lost", 10)
    assert waiting._task is not None
    await asyncio.wait_for(waiting._task, 10)
    assert settle.answers == []


async def test_slot_that_always_fails_keeps_no_other_and_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(releases, "RETRY_SECONDS", 0.0)
    clock, freed = Clock(), []

    async def settle(scopes: object, lease: str, unused: int) -> bool:
        if lease == "broken":
            raise LimiterUnavailable
        freed.append(lease)
        return True

    waiting = Releases(settle, lambda: clock() / 1_000_000)
    caller = principal_for()
    for name in ("broken", "behind", "last"):
        waiting.add(limit_scopes(caller, caller.tier), name, 0)
    await eventually(lambda: len(freed) == 2)
    assert freed == ["behind", "last"]
    clock.advance(LEASE_SECONDS - 0.001)
    await asyncio.sleep(0)
    assert list(waiting._waiting) == ["broken"]
    clock.advance(0.001)
    assert waiting._task is not None
    await asyncio.wait_for(waiting._task, 10)
    assert not waiting._waiting


async def test_releases_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(releases, "MAX_WAITING", 2)
    caller = principal_for()
    waiting = Releases(ScriptedSettle())
    for name in ("a", "b", "c"):
        waiting.add(limit_scopes(caller, caller.tier), name, 0)
    assert list(waiting._waiting) == ["b", "c"]
    await waiting.aclose()
