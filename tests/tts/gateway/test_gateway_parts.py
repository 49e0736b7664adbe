"""A part of the gateway that fails for an unforeseen reason begins again, and requests go on."""

from collections.abc import Collection

import pytest
import redis.asyncio

from tests.scripted_core import speech_request
from tests.tts.gateway.platform_in_process import Registry, gateway_running, worker_running
from tests.tts.gateway.test_gateway_redis import finish, given, ready
from tts.engine.event import FinishReason
from tts.gateway.heartbeat import WorkerBeat
from tts.gateway.placement import Placement, WorkerRef

pytestmark = pytest.mark.timeout(30)
FAILURES = 2


class Broken:
    """Stands before a method and raises instead, a few times."""

    def __init__(self) -> None:
        self.left = FAILURES

    def __call__(self) -> None:
        if self.left:
            self.left -= 1
            raise RuntimeError("nobody foresaw this")


@pytest.fixture
def broken_watch(monkeypatch: pytest.MonkeyPatch) -> Broken:
    broken, update = Broken(), Placement.update

    def updated(placement: Placement, beats: Collection[WorkerBeat]) -> list[WorkerRef]:
        broken()
        return update(placement, beats)

    monkeypatch.setattr(Placement, "update", updated)
    return broken


async def test_its_look_at_the_workers(client: redis.asyncio.Redis, broken_watch: Broken) -> None:
    async with (
        worker_running("w1", client, Registry("tone@1")),
        gateway_running("g1", client) as gateway,
    ):
        await ready(gateway, "w1")
        async with gateway.open(speech_request(), given("one", "two")) as stream:
            end = finish([event async for event in stream])
    assert end.reason is FinishReason.COMPLETED
    assert not broken_watch.left
