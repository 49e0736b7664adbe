"""A socket's caller is who it is now, not who it was when the socket was opened."""

import asyncio
from dataclasses import replace

from tenants.choices import Scope
from tests.tts.consumers.socket_client import connected
from tests.tts.speech.speech_fakes import PRINCIPAL, REALTIME, Platform, Script

SPEECHLESS = replace(PRINCIPAL, scopes=frozenset({Scope.VOICES}))


async def test_the_next_context_has_the_keys_new_tier(speech_platform: Platform) -> None:
    async with connected(speech_platform) as client:
        for principal in (PRINCIPAL, replace(PRINCIPAL, tier=REALTIME)):
            speech_platform.directory.principal = principal
            await client.send("input_text.append", text="One.")
            await client.send("input_text.end")
            await client.until("speech.done")
    served = [stream.request.profile for stream in speech_platform.gateway.streams]
    assert served == ["standard", "realtime"]


async def test_a_context_that_waited_for_its_turn_has_it_too(speech_platform: Platform) -> None:
    speech_platform.gateway.script = Script(hang_before_chunk=1)
    async with connected(speech_platform) as client:
        for name in ("a", "b"):
            await client.send("input_text.append", context_id=name, text="One.")
            await client.send("input_text.end", context_id=name)
        await client.until("speech.started", context_id="a")
        speech_platform.directory.principal = replace(PRINCIPAL, tier=REALTIME)
        speech_platform.gateway.streams[0].resume()
        await client.until("speech.done", context_id="a")
        async with asyncio.timeout(5):
            while len(speech_platform.gateway.streams) < 2:
                await asyncio.sleep(0)
    assert speech_platform.gateway.streams[1].request.profile == "realtime"


async def test_a_key_without_the_scope_gets_no_more_text_in(speech_platform: Platform) -> None:
    async with connected(speech_platform) as client:
        await client.send("input_text.append", text="One.")
        await client.until("speech.started")
        speech_platform.directory.principal = SPEECHLESS
        await client.send("input_text.append", text="Two.")
        _, error = await client.until("error")
        assert (error["error"]["code"], error["fatal"]) == ("scope_missing", False)
        # Given back, it counts at once.
        speech_platform.directory.principal = PRINCIPAL
        await client.send("input_text.append", text="Three.")
        await client.send("input_text.end")
        _, done = await client.until("speech.done")
        assert done["usage"] == {"characters": len("One.Three.")}


async def test_a_key_that_lost_the_scope_has_its_turn_for_nothing(
    speech_platform: Platform,
) -> None:
    speech_platform.gateway.script = Script(hang_before_chunk=1)
    async with connected(speech_platform) as client:
        for name in ("a", "b"):
            await client.send("input_text.append", context_id=name, text="One.")
            await client.send("input_text.end", context_id=name, event_id=f"end-{name}")
        await client.until("speech.started", context_id="a")
        speech_platform.directory.principal = SPEECHLESS
        speech_platform.gateway.streams[0].resume()
        _, error = await client.until("error", context_id="b")
        assert error["error"]["code"] == "scope_missing"
        _, done = await client.until("speech.done", context_id="b")
        assert (done["reason"], done["event_id"]) == ("error", "end-b")
    assert len(speech_platform.gateway.streams) == 1
    speech_platform.assert_nothing_left()
