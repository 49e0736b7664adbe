"""Text goes in piece by piece, audio comes out between its brackets."""

import base64
from typing import Any

from tests.tts.consumers.socket_client import connected
from tests.tts.speech.speech_fakes import Platform


def audio_of(messages: list[Any]) -> bytes:
    return b"".join(item for item in messages if isinstance(item, bytes))


async def test_speaks_what_is_appended(speech_platform: Platform) -> None:
    async with connected(speech_platform, subprotocols=["tts.v1"]) as client:
        await client.send("input_text.append", text="Hello ")
        await client.send("input_text.append", text="there.")
        await client.send("input_text.end")
        before, started = await client.until("speech.started", context_id="default")
        assert audio_of(before) == b""
        assert started["queue_ms"] == 2.0
        between, done = await client.until("speech.done")
        assert len(audio_of(between)) == 2 * 2_400 * 2
        assert done["reason"] == "completed"
        assert done["usage"] == {"characters": 12}
        assert done["metrics"]["audio_ms"] == 200.0
    assert [s.source for s in speech_platform.gateway.streams[0].spoken] == ["Hello there."]
    assert speech_platform.outcomes.only.transport == "websocket"
    speech_platform.assert_nothing_left()


async def test_frames_are_whole_samples_of_20_to_100_ms(speech_platform: Platform) -> None:
    speech_platform.gateway.script.chunk_samples = 24_000
    async with connected(speech_platform) as client:
        await client.send("input_text.append", text="One.")
        await client.send("input_text.end")
        messages, _ = await client.until("speech.done")
    frames = [item for item in messages if isinstance(item, bytes)]
    assert all(len(frame) % 2 == 0 for frame in frames)
    assert all(480 * 2 <= len(frame) <= 2_400 * 2 for frame in frames)


async def test_flush_is_acknowledged_after_its_audio(speech_platform: Platform) -> None:
    async with connected(speech_platform) as client:
        await client.send("input_text.append", text="No full stop")
        await client.send("input_text.flush", flush_id="f1")
        messages, flushed = await client.until("flush.done")
        assert flushed["flush_id"] == "f1"
        assert flushed["audio_ms"] == 200.0
        assert flushed["characters"] == 12
        assert len(audio_of(messages)) == 9_600
        # Text after a flush is the next segment of the same context.
        await client.send("input_text.append", text="more")
        await client.send("input_text.end")
        messages, _ = await client.until("speech.done")
        assert len(audio_of(messages)) == 9_600
        assert not any(m["type"] == "speech.started" for m in messages if isinstance(m, dict))


async def test_nothing_to_speak_is_a_flush_of_0_ms(speech_platform: Platform) -> None:
    async with connected(speech_platform) as client:
        await client.send("input_text.append", text=" 🙂 ... ")
        await client.send("input_text.flush", flush_id="f1")
        _, flushed = await client.until("flush.done")
        assert flushed["audio_ms"] == 0
        await client.send("input_text.end")
        _, done = await client.until("speech.done")
        assert done["reason"] == "completed"


async def test_unflushed_text_is_spoken_after_a_while_with_a_warning(
    speech_platform: Platform,
) -> None:
    async with connected(speech_platform) as client:
        await client.send("session.update", max_buffer_delay_ms=100)
        await client.until("session.updated")
        await client.send("input_text.append", text="waiting")
        _, warning = await client.until("warning")
        assert warning["code"] == "auto_flush"
        messages, _ = await client.until("speech.started")
        await client.send("input_text.end")
        messages, _ = await client.until("speech.done")
        assert not any(m["type"] == "flush.done" for m in messages if isinstance(m, dict))


async def test_contexts_take_turns_in_binary(speech_platform: Platform) -> None:
    async with connected(speech_platform) as client:
        for name in ("a", "b"):
            await client.send("input_text.append", context_id=name, text=f"Text {name}.")
        await client.send("input_text.end", context_id="b")
        await client.send("input_text.end", context_id="a")
        order = []
        for _ in range(2):
            messages, done = await client.until("speech.done")
            started = [m for m in messages if isinstance(m, dict) and m["type"] == "speech.started"]
            assert [m["context_id"] for m in started] == [done["context_id"]]
            order.append(done["context_id"])
        assert order == ["a", "b"]


async def test_base64_contexts_speak_side_by_side(speech_platform: Platform) -> None:
    async with connected(speech_platform) as client:
        await client.send("session.update", audio_transport="base64")
        await client.until("session.updated")
        for name in ("a", "b"):
            await client.send("input_text.append", context_id=name, text=f"Text {name}.")
        # Neither has ended, and both have been spoken.
        heard: dict[str, int] = {"a": 0, "b": 0}
        while any(length < 9_600 for length in heard.values()):
            message = await client.receive()
            assert isinstance(message, dict)
            if message["type"] == "speech.audio.delta":
                audio = base64.b64decode(message["audio"])
                assert message["samples"] * 2 == len(audio)
                assert message["offset_ms"] == heard[message["context_id"]] / 48
                heard[message["context_id"]] += len(audio)
        assert heard == {"a": 9_600, "b": 9_600}


async def test_settings_hold_for_the_next_context(speech_platform: Platform) -> None:
    async with connected(speech_platform) as client:
        await client.send(
            "session.update", voice={"id": "af_heart"}, speed=1.5, seed=7, model="tone"
        )
        _, updated = await client.until("session.updated")
        assert updated["session"]["voice"] == "af_heart"
        await client.send("input_text.append", text="One.")
        await client.send("input_text.end")
        await client.until("speech.done")
    request = speech_platform.gateway.streams[0].request
    assert (request.voice.name, request.speed, request.seed) == ("af_heart", 1.5, 7)


async def test_null_gives_a_setting_its_default_back(speech_platform: Platform) -> None:
    async with connected(speech_platform) as client:
        await client.send("session.update", split="clause", first_chunk_chars=20, speed=2.0)
        _, updated = await client.until("session.updated")
        changed = {name: updated["session"][name] for name in ("split", "first_chunk_chars")}
        assert changed == {"split": "clause", "first_chunk_chars": 20}
        await client.send("session.update", split=None, first_chunk_chars=None, speed=None)
        _, updated = await client.until("session.updated")
        assert updated["session"]["split"] == "sentence"
        assert updated["session"]["speed"] == 1.0


async def test_null_gives_back_what_a_session_begins_with(speech_platform: Platform) -> None:
    async with connected(speech_platform, greeted=False) as client:
        _, created = await client.until("session.created")
        await client.send(
            "session.update", model="tone", voice="both", response_format="mp3", seed=7
        )
        await client.until("session.updated")
        await client.send("session.update", model=None, voice=None, response_format=None, seed=None)
        _, updated = await client.until("session.updated")
    begun = {name: value for name, value in created["session"].items() if name != "id"}
    assert updated["session"] == begun


async def test_session_close_finishes_what_runs(speech_platform: Platform) -> None:
    async with connected(speech_platform) as client:
        await client.send("input_text.append", text="One. Two.")
        await client.send("session.close")
        messages, done = await client.until("speech.done")
        assert done["reason"] == "completed"
        assert len(audio_of(messages)) == 4 * 4_800
        await client.until("session.closing", reason="client_request")
        assert await client.close_code() == 1000


async def test_playback_positions_become_credit(speech_platform: Platform) -> None:
    speech_platform.gateway.script.chunk_samples = 24_000
    speech_platform.gateway.script.chunks = 40
    async with connected(speech_platform) as client:
        await client.send("playback.position", ms=0)
        await client.send("input_text.append", text="A long one.")
        await client.send("input_text.end")
        await client.until("speech.started")
        await client.send("playback.position", ms=0)
        heard = 0
        while heard < 30 * 48_000:
            message = await client.receive()
            heard += len(message) if isinstance(message, bytes) else 0
        await client.send("playback.position", ms=1e308)
        messages, _ = await client.until("speech.done")
        assert heard + len(audio_of(messages)) == 40 * 48_000
    speech_platform.assert_nothing_left()
