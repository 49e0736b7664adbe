"""How long sockets and contexts live, and what still counts while they end."""

from tenants.errors import LimiterUnavailable
from tests.tts.consumers.socket_client import connected
from tests.tts.consumers.test_socket_cancels import settled
from tests.tts.consumers.test_socket_speaks import audio_of
from tests.tts.speech.speech_fakes import Platform
from tts.consumers import inbox
from tts.consumers.settings import SocketLimits
from tts.engine.event import FinishReason


async def test_an_idle_context_ends_and_then_the_socket(speech_platform: Platform) -> None:
    limits = SocketLimits(idle_seconds=0.1)
    async with connected(speech_platform, limits=limits) as client:
        await client.send("input_text.append", text="One.")
        _, warning = await client.until("warning", context_id="default")
        assert warning["code"] == "context_idle"
        _, done = await client.until("speech.done")
        assert done["reason"] == "completed"
        await client.until("session.closing", reason="idle")
        assert await client.close_code() == 4408
    speech_platform.assert_nothing_left()


async def test_a_context_that_still_speaks_is_not_idle(speech_platform: Platform) -> None:
    speech_platform.gateway.script.hang_before_chunk = 1
    limits = SocketLimits(idle_seconds=0.05)
    async with connected(speech_platform, limits=limits) as client:
        await client.send("input_text.append", text="One.")
        await client.until("speech.started")
        assert isinstance(await client.receive(), bytes)
        assert await client.nothing()
        assert await client.nothing()
        assert await client.nothing()


async def test_a_key_revoked_meanwhile_gets_no_more_text_in(speech_platform: Platform) -> None:
    async with connected(speech_platform) as client:
        await client.send("input_text.append", text="One.")
        await client.until("speech.started")
        speech_platform.directory.revoked = True
        await client.send("input_text.append", text="Two.")
        _, error = await client.until("error")
        assert (error["error"]["code"], error["fatal"]) == ("invalid_api_key", True)
        await client.until("session.closing", reason="invalid_api_key")
        assert await client.close_code() == 4401
    await settled(speech_platform)


async def test_positions_and_cancels_count_while_the_session_closes(
    speech_platform: Platform,
) -> None:
    speech_platform.gateway.script.chunk_samples = 24_000
    speech_platform.gateway.script.chunks = 40
    async with connected(speech_platform) as client:
        await client.send("input_text.append", text="A long one.")
        await client.until("speech.started")
        await client.send("playback.position", ms=0)
        await client.send("session.close")
        heard = 0
        while heard < 30 * 48_000:
            message = await client.receive()
            heard += len(message) if isinstance(message, bytes) else 0
        await client.send("playback.position", ms=25_000)
        messages, done = await client.until("speech.done")
        assert done["reason"] == "completed"
        assert heard + len(audio_of(messages)) == 40 * 48_000
        await client.until("session.closing")
        assert await client.close_code() == 1000


async def test_barge_in_while_the_session_closes(speech_platform: Platform) -> None:
    speech_platform.gateway.script.hang_before_chunk = 1
    async with connected(speech_platform) as client:
        await client.send("input_text.append", text="Stop me.")
        await client.until("speech.started")
        await client.send("session.close")
        await client.send("context.cancel")
        await client.until("context.cancelled")
        await client.until("session.closing")
        assert await client.close_code() == 1000
    assert speech_platform.outcomes.only.reason is FinishReason.CANCELLED


async def test_flush_and_end_of_nothing_begin_nothing(speech_platform: Platform) -> None:
    async with connected(speech_platform) as client:
        await client.send("input_text.flush", flush_id="f", event_id="e")
        _, flushed = await client.until("flush.done")
        assert (flushed["flush_id"], flushed["audio_ms"], flushed["event_id"]) == ("f", 0, "e")
        await client.send("input_text.end", context_id="x")
        _, done = await client.until("speech.done", context_id="x")
        assert done["reason"] == "completed"
    assert speech_platform.outcomes.seen == []


async def test_a_flush_after_the_end_is_refused(speech_platform: Platform) -> None:
    speech_platform.gateway.script.hang_before_chunk = 0
    async with connected(speech_platform) as client:
        await client.send("input_text.append", text="One.")
        await client.send("input_text.end")
        await client.send("input_text.flush", flush_id="late")
        _, error = await client.until("error")
        assert error["error"]["code"] == "context_ended"


async def test_waiting_pieces_are_bounded(speech_platform: Platform) -> None:
    speech_platform.gateway.script.hang_before_chunk = 0
    async with connected(speech_platform) as client:
        await client.send("input_text.append", context_id="a", text="Holds the turn.")
        await client.until("speech.started")
        await client.send("input_text.append", context_id="b", text="Waits.")
        for _ in range(inbox.MAX_PIECES):
            await client.send("input_text.append", context_id="b", text="")
            await client.send("input_text.flush", context_id="b")
        _, error = await client.until("error")
        assert (error["error"]["code"], error["context_id"]) == ("buffer_full", "b")


async def test_a_platform_that_cannot_check_keys_closes_1013(speech_platform: Platform) -> None:
    async def fail(secret: str) -> None:
        raise LimiterUnavailable

    speech_platform.directory.authenticate = fail  # type: ignore[method-assign, assignment]  # the fault
    async with connected(speech_platform, greeted=False) as client:
        _, error = await client.until("error")
        assert error["error"]["type"] == "server_error"
        assert await client.close_code() == 1013


async def test_a_failing_handshake_closes_1011_and_says_nothing_of_itself(
    speech_platform: Platform,
) -> None:
    async def fail(secret: str) -> None:
        raise KeyError("secret detail")

    speech_platform.directory.authenticate = fail  # type: ignore[method-assign, assignment]  # the fault
    async with connected(speech_platform, greeted=False) as client:
        _, error = await client.until("error")
        assert "secret detail" not in str(error)
        assert await client.close_code() == 1011
