"""Which message an answer is to, and what the figures in it mean."""

import pytest

from tests.tts.consumers.socket_client import connected
from tests.tts.speech.speech_fakes import Platform, Script
from tts.engine.errors import WorkerLost


async def test_flush_and_end_are_answered_with_their_event_ids(speech_platform: Platform) -> None:
    async with connected(speech_platform) as client:
        await client.send("input_text.append", text="One", event_id="e0")
        await client.send("input_text.flush", flush_id="f1", event_id="e1")
        await client.send("input_text.append", text="Two")
        # The same flush id once more, and none.
        await client.send("input_text.flush", flush_id="f1", event_id="e2")
        await client.send("input_text.append", text="Three")
        await client.send("input_text.flush", event_id="e3")
        await client.send("input_text.flush", flush_id="f4")
        await client.send("input_text.end", event_id="e5")
        answers = [(await client.until("flush.done"))[1] for _ in range(4)]
        _, done = await client.until("speech.done")
    asked = [(answer.get("flush_id"), answer.get("event_id")) for answer in answers]
    assert asked == [("f1", "e1"), ("f1", "e2"), (None, "e3"), ("f4", None)]
    assert [answer["audio_ms"] for answer in answers] == [200.0, 200.0, 200.0, 0]
    assert done["event_id"] == "e5"


async def test_an_end_that_nobody_asked_for_has_no_event_id(speech_platform: Platform) -> None:
    async with connected(speech_platform) as client:
        await client.send("input_text.append", text="One.", event_id="e0")
        await client.send("session.close", event_id="e1")
        _, done = await client.until("speech.done")
    assert "event_id" not in done


async def test_a_failed_end_has_its_event_id(speech_platform: Platform) -> None:
    speech_platform.gateway.script = Script(fail=WorkerLost("gone"))
    async with connected(speech_platform) as client:
        await client.send("input_text.append", text="One.")
        await client.send("input_text.end", event_id="e1")
        _, done = await client.until("speech.done", reason="error")
    assert done["event_id"] == "e1"


async def test_rtf_is_the_engines_time_by_the_time_of_hearing(speech_platform: Platform) -> None:
    # 0.3 s for 0.2 s of audio; that all of it arrives at once says nothing of how it was made.
    speech_platform.gateway.script = Script(compute_seconds=0.3)
    async with connected(speech_platform) as client:
        await client.send("input_text.append", text="One.")
        await client.send("input_text.end")
        _, done = await client.until("speech.done")
    assert done["metrics"]["rtf"] == 1.5
    assert speech_platform.outcomes.only.rtf == pytest.approx(1.5)


async def test_without_the_engines_account_there_is_no_rtf(speech_platform: Platform) -> None:
    speech_platform.gateway.script = Script(hang_before_chunk=1, compute_seconds=0.3)
    async with connected(speech_platform) as client:
        await client.send("input_text.append", text="One.")
        await client.until("speech.started")
        assert isinstance(await client.receive(), bytes)
        await client.send("context.cancel")
        await client.until("context.cancelled")
    assert speech_platform.outcomes.only.rtf is None
