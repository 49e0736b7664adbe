"""A context's outcome: once, true, and before the error that ends the whole socket."""

from typing import Any

import pytest

from tests.tts.consumers.socket_client import Client, connected
from tests.tts.speech.speech_fakes import Platform, Script
from tts.consumers.settings import SocketLimits


async def ended(client: Client, context_id: str) -> str:
    """How an `input_text.end` of this context is answered."""
    await client.send("input_text.end", context_id=context_id, event_id=f"end-{context_id}")
    _, done = await client.until("speech.done", context_id=context_id)
    assert (done["event_id"], done["usage"]) == (f"end-{context_id}", {"characters": 0})
    return str(done["reason"])


async def test_the_end_of_a_context_without_text_is_completed(speech_platform: Platform) -> None:
    async with connected(speech_platform) as client:
        assert await ended(client, "a") == "completed"


async def test_the_end_of_a_refused_context_is_an_error(speech_platform: Platform) -> None:
    async with connected(speech_platform, limits=SocketLimits(contexts=1)) as client:
        for name in ("a", "b", "c"):
            await client.send("input_text.append", context_id=name, text="Text")
        for name in ("b", "c"):
            _, error = await client.until("error", context_id=name)
            assert error["error"]["code"] == "too_many_contexts"
        assert await ended(client, "b") == "error"
        # Told once; what comes after it is about nothing.
        assert await ended(client, "b") == "completed"
        await client.send("context.cancel", context_id="c")
        await client.until("context.cancelled", context_id="c")
        assert await ended(client, "c") == "completed"


async def test_a_refused_context_may_begin_later(speech_platform: Platform) -> None:
    async with connected(speech_platform, limits=SocketLimits(contexts=1)) as client:
        for name in ("a", "b"):
            await client.send("input_text.append", context_id=name, text="One.")
        await client.until("error", context_id="b")
        await client.send("input_text.end", context_id="a")
        await client.until("speech.done", context_id="a")
        await client.send("input_text.append", context_id="b", text="Two.")
        await client.send("input_text.end", context_id="b")
        _, done = await client.until("speech.done", context_id="b")
        assert (done["reason"], done["usage"]) == ("completed", {"characters": 4})


async def after(client: Client, kind: str, **fields: Any) -> tuple[list[Any], list[Any]]:
    """What came before the first such message, and what comes after it until the close."""
    before, _ = await client.until(kind, **fields)
    rest, closing = await client.until("session.closing")
    return before, [*rest, closing]


@pytest.mark.parametrize("transport", ["binary", "base64"])
async def test_nothing_of_a_context_follows_the_error_of_a_revoked_key(
    speech_platform: Platform, transport: str
) -> None:
    speech_platform.gateway.script = Script(chunks=200)
    async with connected(speech_platform) as client:
        await client.send("session.update", audio_transport=transport)
        for name in ("a", "b"):
            await client.send("input_text.append", context_id=name, text="One.")
        await client.until("speech.started", context_id="a")
        speech_platform.directory.revoked = True
        await client.send("input_text.append", context_id="a", text="Two.", event_id="late")
        before, rest = await after(client, "error", fatal=True, event_id="late")
        done = [
            (message["context_id"], message["reason"])
            for message in before
            if isinstance(message, dict) and message["type"] == "speech.done"
        ]
        assert sorted(done) == [("a", "error"), ("b", "error")]
        assert [message["type"] for message in rest] == ["session.closing"]
        assert await client.close_code() == 4401
    speech_platform.assert_nothing_left()


async def test_nothing_of_a_context_follows_a_frame_that_ends_the_socket(
    speech_platform: Platform,
) -> None:
    speech_platform.gateway.script = Script(chunks=200)
    async with connected(speech_platform) as client:
        await client.send("input_text.append", text="One.")
        await client.until("speech.started")
        await client.send_raw(bytes_data=b"\x00\x01")
        before, rest = await after(client, "error", fatal=True)
        assert before[-1].items() >= {"type": "speech.done", "reason": "error"}.items()
        assert [message["type"] for message in rest] == ["session.closing"]
        assert await client.close_code() == 1003
