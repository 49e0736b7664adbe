"""Errors of the client's own making end a socket, if little else comes."""

import asyncio
from contextlib import suppress

import pytest

from tenants.errors import LimitExceeded
from tenants.reservation import Reservation
from tests.tts.consumers.socket_client import Client, connected
from tests.tts.speech.speech_fakes import Platform
from tts.consumers.settings import SocketLimits


@pytest.fixture
def settling(speech_platform: Platform, monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Holds contexts between their end and its `speech.done`, until it is set."""
    settle, held = speech_platform.limiter.settle, asyncio.Event()

    async def settle_when_told(reservation: Reservation, characters_spoken: int) -> bool:
        # Bounded: a test that fails must not leave its service waiting.
        with suppress(TimeoutError):
            await asyncio.wait_for(held.wait(), 5)
        return await settle(reservation, characters_spoken)

    monkeypatch.setattr(speech_platform.limiter, "settle", settle_when_told)
    return held


async def refused_without_harm(client: Client, times: int) -> None:
    for _ in range(times):
        await client.send("input_text.append", text="Two.")
        _, error = await client.until("error")
        assert (error["error"]["code"], error["fatal"]) == ("context_ended", False)


async def test_too_many_errors_are_closed_1008(speech_platform: Platform) -> None:
    async with connected(speech_platform, limits=SocketLimits(errors=3)) as client:
        for _ in range(3):
            await client.send_raw(text_data="{")
        await client.until("session.closing", reason="too_many_errors")
        assert await client.close_code() == 1008


async def test_contexts_beyond_the_limit_are_closed_1008(speech_platform: Platform) -> None:
    async with connected(speech_platform, limits=SocketLimits(contexts=2, errors=3)) as client:
        for number in range(6):
            await client.send("input_text.append", context_id=f"c{number}", text="a")
        fatal = []
        for _ in range(3):
            _, error = await client.until("error")
            assert error["error"]["code"] == "too_many_contexts"
            fatal.append(error["fatal"])
        assert fatal == [False, False, True]
        await client.until("session.closing", reason="too_many_errors")
        assert await client.close_code() == 1008
    speech_platform.assert_nothing_left()


async def test_text_after_the_end_counts(speech_platform: Platform) -> None:
    speech_platform.gateway.script.hang_before_chunk = 0
    async with connected(speech_platform, limits=SocketLimits(errors=3)) as client:
        await client.send("input_text.append", text="One.")
        await client.send("input_text.end")
        for _ in range(4):
            await client.send("input_text.append", text="Two.")
        await client.until("error", fatal=True)
        assert (await client.until("session.closing"))[1]["reason"] == "too_many_errors"
        assert await client.close_code() == 1008


async def test_text_that_crosses_the_end_of_an_idle_context_does_not_count(
    speech_platform: Platform, settling: asyncio.Event
) -> None:
    limits = SocketLimits(errors=3, idle_seconds=0.1)
    async with connected(speech_platform, limits=limits) as client:
        await client.send("input_text.append", text="One.")
        await client.until("warning", code="context_idle")
        await refused_without_harm(client, 4)
        settling.set()
        assert (await client.until("speech.done"))[1]["reason"] == "completed"


async def test_text_that_crosses_the_end_of_a_context_in_a_drain_does_not_count(
    speech_platform: Platform, settling: asyncio.Event
) -> None:
    async with connected(speech_platform, limits=SocketLimits(errors=3)) as client:
        await client.send("session.update", max_buffer_delay_ms=100)
        await client.send("input_text.append", text="One.")
        await client.until("speech.started")
        speech_platform.service.drain()
        await client.until("warning", code="context_idle")
        await refused_without_harm(client, 4)
        settling.set()
        assert (await client.until("speech.done"))[1]["reason"] == "completed"
        await client.until("session.closing", reason="server_stopping")
        assert await client.close_code() == 1001


async def test_good_messages_make_up_for_bad_ones(speech_platform: Platform) -> None:
    async with connected(speech_platform, limits=SocketLimits(errors=3)) as client:
        for turn in range(10):
            await client.send_raw(text_data="{")
            _, error = await client.until("error")
            assert (turn, error["fatal"]) == (turn, False)
            await client.send("ping")
            await client.until("pong")


async def test_refusals_of_well_formed_messages_never_close_the_socket(
    speech_platform: Platform,
) -> None:
    limits = SocketLimits(errors=3, buffer_characters=20)
    async with connected(speech_platform, limits=limits) as client:
        for _ in range(10):
            await client.send("input_text.append", text="x" * 21)
            _, error = await client.until("error")
            assert (error["error"]["code"], error["fatal"]) == ("buffer_full", False)
        speech_platform.limiter.refusal = LimitExceeded(
            "too many", limit="requests", scope="key", retry_after=3.5
        )
        for _ in range(10):
            await client.send("input_text.append", text="One.")
            _, error = await client.until("error")
            assert (error["error"]["code"], error["fatal"]) == ("rate_limit_exceeded", False)
