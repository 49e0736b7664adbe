"""A client with one slot that asks again as soon as it knows of an end is never refused."""

from collections.abc import Iterator

import pytest

from tests.e2e.platform import Platform
from tests.e2e.speech_client import FORMATS, SpeechClient
from tests.e2e.speech_fixtures import Paced

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("platform")]

TONE = {"model": "tone", "voice": "tone-a", "quality_tier": "single"}


@pytest.fixture
def one_slot(platform: Platform, paced: Paced) -> Iterator[SpeechClient]:
    client = SpeechClient(platform, paced.key)
    yield client
    client.close()


@pytest.mark.parametrize("stream_format", ["audio", "sse"])
def test_one_request_after_another(one_slot: SpeechClient, stream_format: str) -> None:
    statuses = [
        one_slot.post(
            "Hi.", response_format=response_format, stream_format=stream_format, **TONE
        ).status_code
        for response_format in FORMATS * 5
    ]
    assert statuses == [200] * len(statuses)


def test_a_hundred_turns_with_one_context_id(one_slot: SpeechClient) -> None:
    with one_slot.socket(response_format="pcm", **TONE) as socket:
        for _ in range(100):
            socket.send("input_text.append", text="Hi.")
            socket.send("input_text.end")
            # Any error fails the test.
            assert socket.until("speech.done")["reason"] == "completed"


def test_turns_after_interruptions(one_slot: SpeechClient, paced: Paced) -> None:
    fields = {**TONE, **paced.fields}
    with one_slot.socket(response_format="pcm", **fields) as socket:
        for _ in range(10):
            socket.send("input_text.append", text="This goes on and on for a while.")
            socket.send("input_text.flush")
            socket.until("speech.started")
            socket.send("context.cancel")
            cancelled = socket.until("context.cancelled")
            assert cancelled["chars_spoken"] <= 32
