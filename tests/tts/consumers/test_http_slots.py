"""A response gives its slot back before it ends: a client's next request is never refused."""

import asyncio
import json
from typing import Any

import pytest

from tests.tts.consumers.http_exchange import Exchange, begin
from tests.tts.consumers.test_http_speech import BODY, HEADERS
from tests.tts.speech.speech_fakes import Platform, Script
from tts.consumers.http import SpeechHttpConsumer
from tts.engine.errors import SynthesisFailed, WorkerLost

FORMATS = ("mp3", "opus", "aac", "flac", "wav", "pcm")


def watched(platform: Platform, **changes: Any) -> tuple[Exchange, list[int]]:
    """An exchange, and how many slots were held at each message that ends a response."""
    held: list[int] = []

    async def service() -> Any:
        return platform.service

    speech: Any = SpeechHttpConsumer.as_asgi(service=service)

    async def application(scope: Any, receive: Any, send: Any) -> None:
        async def sending(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.body" and not message["more_body"]:
                held.append(len(platform.limiter.held) + len(platform.leases.held))
            await send(message)

        await speech(scope, receive, sending)

    exchange = begin(application, headers=HEADERS)
    exchange.give(json.dumps({**BODY, **changes}).encode())
    return exchange, held


@pytest.mark.parametrize("stream_format", ["audio", "sse"])
@pytest.mark.parametrize("response_format", FORMATS)
async def test_nothing_is_held_when_the_end_leaves(
    speech_platform: Platform, response_format: str, stream_format: str
) -> None:
    exchange, held = watched(
        speech_platform, response_format=response_format, stream_format=stream_format
    )
    await exchange.done()
    assert exchange.complete
    assert held == [0]
    assert [settled[1:] for settled in speech_platform.limiter.settled] == [(15, 15)]
    assert speech_platform.outcomes.only.characters_spoken == 15
    speech_platform.assert_nothing_left()


@pytest.mark.parametrize("fail", [WorkerLost("gone"), SynthesisFailed("broken")])
async def test_nothing_is_held_when_a_failure_is_told(
    speech_platform: Platform, fail: WorkerLost | SynthesisFailed
) -> None:
    for after in (0, 1):
        speech_platform.gateway.script = Script(fail=fail, fail_after_chunks=after)
        exchange, held = watched(speech_platform, response_format="pcm", stream_format="sse")
        await exchange.done()
        assert exchange.complete
        assert held == [0]
    assert [settled[2] for settled in speech_platform.limiter.settled] == [0, 0]
    assert {outcome.error_code for outcome in speech_platform.outcomes.seen} == {fail.code}
    speech_platform.assert_nothing_left()


async def test_a_client_that_leaves_before_the_last_byte_is_settled_once(
    speech_platform: Platform,
) -> None:
    exchange, _ = watched(speech_platform, response_format="mp3")
    await asyncio.wait_for(exchange.begun.wait(), 5)
    exchange.open.clear()
    async with asyncio.timeout(5):
        while speech_platform.limiter.held:
            exchange.open.set()
            await asyncio.sleep(0)
            exchange.open.clear()
    exchange.disconnect()
    await exchange.done()
    assert len(speech_platform.limiter.settled) == 1
    speech_platform.assert_nothing_left()


async def test_one_slot_serves_one_request_after_another(speech_platform: Platform) -> None:
    speech_platform.limiter.slots = 1
    for _ in range(30):
        exchange, _ = watched(speech_platform, response_format="mp3")
        # Not until the application has returned: a client knows of the end before.
        async with asyncio.timeout(5):
            while not exchange.complete:
                await asyncio.sleep(0)
        assert exchange.status == 200
