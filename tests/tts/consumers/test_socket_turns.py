"""Turn after turn: whoever hears of an end may begin anew at once, with one name and one slot."""

import pytest

from tests.tts.consumers.socket_client import Client, connected
from tests.tts.speech.speech_fakes import Platform, Script
from tts.engine.errors import WorkerLost


@pytest.fixture(autouse=True)
def one_slot(speech_platform: Platform) -> None:
    speech_platform.limiter.slots = 1


async def turn(client: Client, text: str = "Hello.") -> str:
    """Speak one text to its end; the reason that was given."""
    await client.send("input_text.append", text=text)
    await client.send("input_text.end")
    before, done = await client.until("speech.done")
    assert not [m for m in before if isinstance(m, dict) and m["type"] == "error"]
    return str(done["reason"])


async def test_a_hundred_turns_with_one_context_id(speech_platform: Platform) -> None:
    async with connected(speech_platform) as client:
        reasons = {await turn(client) for _ in range(100)}
    assert reasons == {"completed"}
    assert len(speech_platform.limiter.settled) == 100
    speech_platform.assert_nothing_left()


async def test_turns_of_encoded_audio_that_may_speak_side_by_side(
    speech_platform: Platform,
) -> None:
    async with connected(speech_platform) as client:
        await client.send("session.update", audio_transport="base64", response_format="mp3")
        for _ in range(20):
            assert await turn(client) == "completed"


async def test_the_slot_is_free_when_the_end_is_told(speech_platform: Platform) -> None:
    async with connected(speech_platform) as client:
        await client.send("input_text.append", text="Hello.")
        await client.send("input_text.end")
        await client.until("speech.done")
        assert speech_platform.limiter.held == {}
        assert speech_platform.leases.held == set()


async def test_the_slot_is_free_when_a_failure_is_told(speech_platform: Platform) -> None:
    async with connected(speech_platform) as client:
        speech_platform.gateway.script = Script(fail=WorkerLost("gone"), fail_after_chunks=1)
        await client.send("input_text.append", text="Hello.")
        await client.until("error")
        assert speech_platform.limiter.held == {}
        await client.until("speech.done", reason="error")
        speech_platform.gateway.script = Script()
        assert await turn(client) == "completed"


@pytest.mark.parametrize("everything", [True, False])
async def test_the_slot_is_free_when_a_cancel_is_answered(
    speech_platform: Platform, everything: bool
) -> None:
    async with connected(speech_platform) as client:
        for _ in range(20):
            speech_platform.gateway.script = Script(hang_before_chunk=1)
            await client.send("input_text.append", text="Hello.")
            await client.until("speech.started")
            await client.send("context.cancel", context_id="*" if everything else "default")
            await client.until("context.cancelled")
            assert speech_platform.limiter.held == {}
            speech_platform.gateway.script = Script()
            assert await turn(client) == "completed"
    assert len(speech_platform.limiter.settled) == 40


async def test_the_end_is_told_though_nothing_can_be_given_back(
    speech_platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lost(*arguments: object) -> bool:
        raise ConnectionError

    monkeypatch.setattr(speech_platform.limiter, "settle", lost)
    async with connected(speech_platform) as client:
        assert await turn(client) == "completed"
