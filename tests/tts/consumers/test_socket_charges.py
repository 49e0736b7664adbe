"""What a cancel reports is what the client received, what is settled, and what is logged."""

import asyncio
import base64
from typing import Any

import pytest

from tests.tts.consumers.socket_client import Client, connected
from tests.tts.speech.speech_fakes import RATE, Platform, Script
from tts.engine.errors import WorkerLost
from tts.engine.event import FinishReason

TEXT = "One two three. Four five six seven."


async def begin(client: Client, **settings: Any) -> None:
    await client.send("session.update", **settings)
    await client.until("session.updated")
    await client.send("input_text.append", text=TEXT)
    await client.send("input_text.end")


def heard_ms(messages: list[Any]) -> float:
    """The audio among PCM messages, bare or base64."""
    audio = [
        base64.b64decode(message["audio"]) if isinstance(message, dict) else message
        for message in messages
        if isinstance(message, bytes) or message["type"] == "speech.audio.delta"
    ]
    return sum(map(len, audio)) / 2 / RATE * 1000


@pytest.mark.parametrize("transport", ["binary", "base64"])
@pytest.mark.parametrize("frames", [1, 3, 12])
async def test_a_cancel_reports_every_frame_that_was_sent(
    speech_platform: Platform, transport: str, frames: int
) -> None:
    # One chunk is many frames, and they leave one by one.
    speech_platform.gateway.script = Script(chunks=3, chunk_samples=10 * RATE)
    async with connected(speech_platform) as client:
        await begin(client, audio_transport=transport)
        await client.until("speech.started")
        first = [await client.receive() for _ in range(frames)]
        await client.send("context.cancel")
        rest, cancelled = await client.until("context.cancelled")
    assert cancelled["audio_sent_ms"] == heard_ms(first + rest) > 0
    outcome = speech_platform.outcomes.only
    assert outcome.audio_seconds * 1000 == pytest.approx(cancelled["audio_sent_ms"], abs=0.1)


async def test_what_is_reported_is_settled_and_logged(speech_platform: Platform) -> None:
    # The first segment is spoken, and half of the second.
    speech_platform.gateway.script = Script(hang_before_chunk=3)
    async with connected(speech_platform) as client:
        await begin(client)
        await client.until("speech.started")
        heard = 0
        while heard < 3 * 2_400 * 2:
            message = await client.receive()
            heard += len(message) if isinstance(message, bytes) else 0
        await client.send("context.cancel")
        _, cancelled = await client.until("context.cancelled")
    assert cancelled["audio_sent_ms"] == 300.0
    first = len("One two three.")
    assert first < cancelled["chars_spoken"] < len(TEXT)
    (settled,) = speech_platform.limiter.settled
    assert settled[1:] == (len(TEXT), cancelled["chars_spoken"])
    outcome = speech_platform.outcomes.only
    assert outcome.characters_spoken == cancelled["chars_spoken"]
    assert (outcome.reason, outcome.error_code) == (FinishReason.CANCELLED, "")


async def test_audio_that_waits_to_be_sent_is_not_charged(speech_platform: Platform) -> None:
    # The worker has made everything long before the client has taken it.
    speech_platform.gateway.script = Script(chunks=2, chunk_samples=5 * RATE)
    async with connected(speech_platform) as client:
        await begin(client)
        await client.until("speech.started")
        await client.receive()
        await client.send("context.cancel")
        _, cancelled = await client.until("context.cancelled")
    share = cancelled["audio_sent_ms"] / 10_000
    assert cancelled["chars_spoken"] == pytest.approx(min(share, 1) * 14 + max(share - 1, 0) * 21,
                                                      abs=2)  # fmt: skip
    assert speech_platform.limiter.settled[0][2] == cancelled["chars_spoken"]
    assert speech_platform.outcomes.only.reason is FinishReason.CANCELLED


@pytest.mark.parametrize("response_format", ["mp3", "opus", "aac"])
async def test_encoded_audio_is_counted_by_what_went_into_it(
    speech_platform: Platform, response_format: str
) -> None:
    async with connected(speech_platform) as client:
        await begin(client, response_format=response_format)
        _, done = await client.until("speech.done")
        assert done["metrics"]["audio_ms"] == 400.0
        assert done["usage"] == {"characters": len(TEXT)}
        speech_platform.gateway.script = Script(hang_before_chunk=1)
        await client.send("input_text.append", text=TEXT)
        await client.until("speech.started")
        async with asyncio.timeout(5):
            while speech_platform.gateway.streams[-1].sent < 2_400:
                await asyncio.sleep(0)
        await client.send("context.cancel")
        _, cancelled = await client.until("context.cancelled")
    assert 0 <= cancelled["audio_sent_ms"] <= 100.0


async def test_a_client_that_leaves_is_charged_what_was_sent(speech_platform: Platform) -> None:
    speech_platform.gateway.script = Script(hang_before_chunk=1)
    async with connected(speech_platform) as client:
        await begin(client)
        await client.until("speech.started")
        assert isinstance(await client.receive(), bytes)
    async with asyncio.timeout(5):
        while not speech_platform.outcomes.seen:
            await asyncio.sleep(0)
    outcome = speech_platform.outcomes.only
    assert outcome.audio_seconds == 0.1
    assert 0 < outcome.characters_spoken < len("One two three.")
    assert speech_platform.limiter.settled[0][2] == outcome.characters_spoken
    assert outcome.error_code == "client_disconnected"


async def test_an_outcome_names_the_fault_for_which_the_socket_was_closed(
    speech_platform: Platform,
) -> None:
    speech_platform.gateway.script = Script(hang_before_chunk=1)
    async with connected(speech_platform) as client:
        await begin(client)
        await client.until("speech.started")
        assert isinstance(await client.receive(), bytes)
        await client.send_raw(bytes_data=b"not text")
        await client.until("session.closing", reason="unexpected_binary")
        assert await client.close_code() == 1003
    outcome = speech_platform.outcomes.only
    assert outcome.error_code == "unexpected_binary"
    assert speech_platform.limiter.settled[0][2] == outcome.characters_spoken > 0


async def test_a_failure_charges_no_segment_that_it_broke(speech_platform: Platform) -> None:
    speech_platform.gateway.script = Script(fail=WorkerLost("gone"), fail_after_chunks=3)
    async with connected(speech_platform) as client:
        await begin(client)
        _, done = await client.until("speech.done")
    assert done["reason"] == "error"
    assert done["usage"] == {"characters": len("One two three.")}
    assert done["metrics"]["audio_ms"] == 300.0
    assert speech_platform.limiter.settled[0][2] == len("One two three.")
