"""A server that stops: what is spoken is spoken out, nothing new begins, what is left is told."""

import pytest

from tests.tts.consumers.socket_client import Client, connected
from tests.tts.consumers.test_socket_cancels import settled
from tests.tts.consumers.test_socket_speaks import audio_of
from tests.tts.speech.speech_fakes import Platform
from tts.consumers.settings import SocketLimits
from tts.engine.event import FinishReason


@pytest.fixture
def held(speech_platform: Platform) -> Platform:
    """A platform that makes one chunk of 100 ms, and the others when its streams are resumed."""
    speech_platform.gateway.script.hang_before_chunk = 1
    return speech_platform


async def speaking(client: Client, context_id: str = "default") -> None:
    """Begin to speak a context, until its first audio."""
    await client.send("input_text.append", context_id=context_id, text="One.")
    await client.until("speech.started", context_id=context_id)
    assert isinstance(await client.receive(), bytes)


async def closed_for_the_stop(client: Client) -> None:
    await client.until("session.closing", reason="server_stopping")
    assert await client.close_code() == 1001


async def test_what_is_spoken_takes_text_to_its_end_and_all_of_it_is_heard(held: Platform) -> None:
    async with connected(held) as client:
        await speaking(client)
        held.service.drain()
        await client.send("input_text.append", text="Two.")
        await client.send("input_text.end")
        await client.send("ping")
        await client.until("pong")
        (stream,) = held.gateway.streams
        stream.resume()
        messages, done = await client.until("speech.done")
        assert done["reason"] == "completed"
        assert [segment.source for segment in stream.spoken] == ["One.", "Two."]
        # Two segments of two chunks, the first of which was heard before.
        assert len(audio_of(messages)) == 3 * 4_800
        await closed_for_the_stop(client)
    held.assert_nothing_left()


async def test_new_contexts_are_refused(held: Platform) -> None:
    async with connected(held) as client:
        await speaking(client)
        held.service.drain()
        await client.send("input_text.append", context_id="new", text="Late.", event_id="e1")
        _, error = await client.until("error")
        assert (error["error"]["code"], error["error"]["type"]) == (
            "server_stopping",
            "server_error",
        )
        assert (error["context_id"], error["event_id"]) == ("new", "e1")
        assert (error["retry_after"], error["fatal"]) == (1.0, False)
    await settled(held)


async def test_contexts_that_wait_for_their_turn_are_refused_at_once(held: Platform) -> None:
    async with connected(held) as client:
        await speaking(client)
        await client.send("input_text.append", context_id="waits", text="Two.")
        await client.send("input_text.end", context_id="waits", event_id="e2")
        await client.send("ping")
        await client.until("pong")
        held.service.drain()
        _, error = await client.until("error", context_id="waits")
        assert (error["error"]["code"], error["fatal"]) == ("server_stopping", False)
        _, done = await client.until("speech.done", context_id="waits")
        assert (done["reason"], done["event_id"]) == ("error", "e2")
        await client.send("session.close")
        held.gateway.streams[0].resume()
        _, done = await client.until("speech.done", context_id="default")
        assert done["reason"] == "completed"
        await closed_for_the_stop(client)
    assert len(held.gateway.streams) == 1


async def test_an_idle_socket_is_closed_at_once(speech_platform: Platform) -> None:
    async with connected(speech_platform) as client:
        speech_platform.service.drain()
        await closed_for_the_stop(client)


async def test_a_socket_that_opens_meanwhile_is_refused(speech_platform: Platform) -> None:
    speech_platform.service.drain()
    async with connected(speech_platform, greeted=False) as client:
        error = await client.receive()
        assert isinstance(error, dict)
        assert (error["error"]["code"], error["fatal"]) == ("server_stopping", True)
        assert await client.close_code() == 1001


async def test_a_context_without_an_end_does_not_hold_the_stop_up(
    speech_platform: Platform,
) -> None:
    async with connected(speech_platform) as client:
        await client.send("session.update", max_buffer_delay_ms=100)
        await client.send("input_text.append", text="One.")
        await client.send("input_text.flush")
        await client.until("flush.done")
        speech_platform.service.drain()
        _, warning = await client.until("warning")
        assert warning["code"] == "context_idle"
        assert "0.1 s" in warning["message"]
        _, done = await client.until("speech.done")
        assert done["reason"] == "completed"
        await closed_for_the_stop(client)


async def test_what_is_left_when_the_grace_is_over_is_told(held: Platform) -> None:
    async with connected(held) as client:
        await speaking(client)
        held.service.drain()
        held.service.cut()
        before, error = await client.until("error", context_id="default")
        assert audio_of(before) == b""
        assert (error["error"]["code"], error["fatal"]) == ("server_stopping", True)
        between, done = await client.until("speech.done", context_id="default")
        assert between == []
        assert (done["reason"], done["metrics"]["audio_ms"]) == ("error", 100.0)
        await closed_for_the_stop(client)
    outcome = held.outcomes.only
    assert (outcome.reason, outcome.error_code) == (FinishReason.ERROR, "server_stopping")
    held.assert_nothing_left()


async def test_a_fault_ends_a_socket_that_speaks_its_last(held: Platform) -> None:
    async with connected(held, limits=SocketLimits(errors=2)) as client:
        await speaking(client)
        held.service.drain()
        for _ in range(2):
            await client.send_raw(text_data="{")
        await client.until("session.closing", reason="too_many_errors")
        assert await client.close_code() == 1008
    assert held.outcomes.only.error_code == "too_many_errors"
    held.assert_nothing_left()
