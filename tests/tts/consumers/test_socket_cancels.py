"""Barge-in: a cancel silences its context at once and frees everything."""

import asyncio

from tests.tts.consumers.socket_client import connected
from tests.tts.speech.speech_fakes import Platform
from tts.engine.event import FinishReason


async def settled(speech_platform: Platform) -> None:
    async with asyncio.timeout(5):
        while speech_platform.limiter.held or speech_platform.leases.held:
            await asyncio.sleep(0)


async def test_no_audio_after_a_cancel(speech_platform: Platform) -> None:
    speech_platform.gateway.script.hang_before_chunk = 1
    async with connected(speech_platform) as client:
        await client.send("input_text.append", text="Stop me.")
        await client.until("speech.started")
        assert isinstance(await client.receive(), bytes)
        await client.send("context.cancel", event_id="e1")
        _, cancelled = await client.until("context.cancelled", event_id="e1")
        assert cancelled["context_id"] == "default"
        assert cancelled["audio_sent_ms"] == 100.0
        assert await client.nothing()
        await settled(speech_platform)
        assert speech_platform.outcomes.only.reason is FinishReason.CANCELLED
        speech_platform.assert_nothing_left()


async def test_the_same_context_id_speaks_again(speech_platform: Platform) -> None:
    speech_platform.gateway.script.hang_before_chunk = 0
    async with connected(speech_platform) as client:
        await client.send("input_text.append", text="First.")
        await client.until("speech.started")
        await client.send("context.cancel")
        await client.until("context.cancelled")
        speech_platform.gateway.script.hang_before_chunk = None
        await client.send("input_text.append", text="Second.")
        await client.send("input_text.end")
        _, done = await client.until("speech.done")
        assert done["reason"] == "completed"


async def test_cancel_of_a_waiting_context_lets_the_next_one_speak(
    speech_platform: Platform,
) -> None:
    async with connected(speech_platform) as client:
        await client.send("input_text.append", context_id="a", text="One.")
        await client.send("input_text.append", context_id="b", text="Two.")
        await client.send("input_text.append", context_id="c", text="Three.")
        await client.send("context.cancel", context_id="b")
        await client.until("context.cancelled", context_id="b")
        await client.send("input_text.end", context_id="a")
        await client.send("input_text.end", context_id="c")
        await client.until("speech.done", context_id="a")
        await client.until("speech.done", context_id="c")


async def test_cancel_of_all(speech_platform: Platform) -> None:
    speech_platform.gateway.script.hang_before_chunk = 0
    async with connected(speech_platform) as client:
        for name in ("a", "b"):
            await client.send("input_text.append", context_id=name, text="Text.")
        await client.send("context.cancel", context_id="*")
        await client.until("context.cancelled", context_id="a")
        await client.until("context.cancelled", context_id="b")
        await settled(speech_platform)


async def test_many_barge_ins_do_not_use_up_the_contexts(speech_platform: Platform) -> None:
    async with connected(speech_platform) as client:
        for number in range(40):
            await client.send("input_text.append", context_id=f"turn-{number}", text="Hi there.")
            await client.send("context.cancel", context_id=f"turn-{number}")
            await client.until("context.cancelled", context_id=f"turn-{number}")
        await client.send("ping", event_id="p")
        messages, _ = await client.until("pong")
        assert not [m for m in messages if isinstance(m, dict) and m["type"] == "error"]
        await settled(speech_platform)


async def test_cancel_of_an_unknown_context_is_no_error(speech_platform: Platform) -> None:
    async with connected(speech_platform) as client:
        await client.send("context.cancel", context_id="never")
        _, cancelled = await client.until("context.cancelled")
        assert cancelled["audio_sent_ms"] == 0


async def test_cancel_of_all_is_answered_when_there_are_none(speech_platform: Platform) -> None:
    async with connected(speech_platform) as client:
        await client.send("context.cancel", context_id="*", event_id="e1")
        _, cancelled = await client.until("context.cancelled")
    assert (cancelled["context_id"], cancelled["event_id"]) == ("*", "e1")
    assert (cancelled["audio_sent_ms"], cancelled["chars_spoken"]) == (0, 0)


async def test_a_client_that_leaves_frees_everything(speech_platform: Platform) -> None:
    speech_platform.gateway.script.hang_before_chunk = 1
    async with connected(speech_platform) as client:
        await client.send("input_text.append", text="Text.")
        await client.until("speech.started")
    await settled(speech_platform)
    speech_platform.assert_nothing_left()
    assert speech_platform.outcomes.only.reason is FinishReason.CANCELLED
