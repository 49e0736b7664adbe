"""The official Python client, unchanged, against a running platform."""

import base64
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import openai
import pytest

from tests.e2e.platform import Platform
from tests.e2e.speech_client import RATE, SpeechClient, samples
from tests.e2e.speech_fixtures import Paced
from tests.speech.judge import decode

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("platform")]

TEXT = "Hello from the official client."


class Caller:
    """A client that counts the requests it really sends."""

    def __init__(self, platform: Platform, key: str, max_retries: int) -> None:
        self.requests = 0
        http_client = openai.DefaultHttpxClient(
            trust_env=False, event_hooks={"request": [self._count]}
        )
        self.client = openai.OpenAI(
            base_url=f"{platform.url}/v1",
            api_key=key,
            max_retries=max_retries,
            http_client=http_client,
        )

    def _count(self, request: object) -> None:
        self.requests += 1


@contextmanager
def caller(platform: Platform, key: str = "", max_retries: int = 2) -> Iterator[Caller]:
    """A Caller with the platform's key or another."""
    found = Caller(platform, key or platform.key, max_retries)
    with found.client:
        yield found


@pytest.fixture(scope="module")
def client(platform: Platform) -> Iterator[openai.OpenAI]:
    """The client as its documentation makes it."""
    with caller(platform) as found:
        yield found.client


def test_create_returns_speech(client: openai.OpenAI) -> None:
    speech = client.audio.speech.create(model="tts-1", voice="alloy", input=TEXT)
    audio, rate = decode(speech.read(), "mp3")
    assert len(audio) / rate > 1.0


def test_streaming_response_writes_a_file(client: openai.OpenAI, tmp_path: Any) -> None:
    path = tmp_path / "speech.wav"
    with client.audio.speech.with_streaming_response.create(
        model="gpt-4o-mini-tts",
        voice={"id": "af_heart"},
        input=TEXT,
        instructions="Speak calmly.",
        response_format="wav",
        speed=1.5,
        extra_body={"quality_tier": "realtime"},
    ) as response:
        assert response.headers["content-type"] == "audio/wav"
        response.stream_to_file(path)
    audio, rate = decode(path.read_bytes(), "wav")
    assert rate == RATE
    assert len(audio) / rate > 0.7


def test_events_carry_the_same_audio(client: openai.OpenAI, speech: SpeechClient) -> None:
    fields: dict[str, Any] = {"model": "tts-1", "voice": "alloy", "input": TEXT}
    with client.audio.speech.with_streaming_response.create(
        **fields, response_format="pcm", stream_format="sse", extra_body={"seed": 4}
    ) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        lines = [line for line in response.iter_lines() if line]
    events = [json.loads(line.removeprefix("data: ")) for line in lines]
    assert events[-1]["type"] == "speech.audio.done"
    audio = b"".join(base64.b64decode(event["audio"]) for event in events[:-1])
    assert (samples(audio) == speech.pcm(TEXT, seed=4)).all()


def test_models_are_listed_and_retrieved(client: openai.OpenAI) -> None:
    models = {model.id: model for model in client.models.list()}
    assert {"tts-1", "tts-1-hd", "gpt-4o-mini-tts", "kokoro"} <= models.keys()
    assert client.models.retrieve("kokoro") == models["kokoro"]


@pytest.mark.parametrize(
    ("changes", "expected", "code"),
    [
        ({"input": ""}, openai.BadRequestError, "missing_required_parameter"),
        ({"input": "..."}, openai.BadRequestError, "no_speakable_text"),
        ({"speed": 9}, openai.BadRequestError, "invalid_value"),
        ({"model": "nothing"}, openai.NotFoundError, "model_not_found"),
        ({"voice": "nobody"}, openai.NotFoundError, "voice_not_found"),
    ],
)
def test_errors_are_the_clients_own(
    platform: Platform, changes: dict[str, Any], expected: type[openai.APIStatusError], code: str
) -> None:
    fields = {"model": "tts-1", "voice": "alloy", "input": TEXT} | changes
    with caller(platform) as found:
        with pytest.raises(expected) as caught:
            found.client.audio.speech.create(**fields)
        assert caught.value.code == code
        assert caught.value.param == next(iter(changes))
        assert caught.value.request_id
        assert found.requests == 1


def test_wrong_key_is_an_authentication_error(platform: Platform) -> None:
    with caller(platform, "vh_00000000_nobody") as found:
        with pytest.raises(openai.AuthenticationError) as caught:
            found.client.audio.speech.create(model="tts-1", voice="alloy", input=TEXT)
        assert caught.value.code == "invalid_api_key"
        assert found.requests == 1


@pytest.mark.parametrize(
    ("changes", "code", "names"),
    [
        ({"model": "kokoro"}, "model_not_allowed", "tone-paced"),
        ({"extra_body": {"quality_tier": "hq"}}, "tier_not_allowed", "single"),
    ],
)
def test_what_a_key_may_not_use_is_a_permission_error(
    platform: Platform, paced: Paced, changes: dict[str, Any], code: str, names: str
) -> None:
    fields: dict[str, Any] = {"model": "tts-1", "voice": "alloy", "input": TEXT} | changes
    with caller(platform, paced.key) as found:
        with pytest.raises(openai.PermissionDeniedError, match=names) as caught:
            found.client.audio.speech.create(**fields)
        assert caught.value.code == code
        assert found.requests == 1


def test_a_limit_that_passes_is_waited_for(platform: Platform, paced: Paced) -> None:
    first = SpeechClient(platform, paced.key)
    text = "This one keeps the only slot of the key for a while. " * 20
    try:
        with (
            first.stream(
                text, response_format="pcm", quality_tier="single", **paced.fields
            ) as response,
            caller(platform, paced.key, max_retries=5) as found,
        ):
            pieces = response.iter_raw()
            next(pieces)
            threading.Timer(0.5, response.close).start()
            begun = time.monotonic()
            speech = found.client.audio.speech.create(**paced.fields, input="Second in line.")
            assert speech.read()
            assert found.requests > 1
            assert time.monotonic() - begun > 0.4
    finally:
        first.close()


def test_a_limit_that_does_not_pass_is_not_retried(platform: Platform, paced: Paced) -> None:
    with caller(platform, paced.key) as found:
        with pytest.raises(openai.RateLimitError) as caught:
            found.client.audio.speech.create(**paced.fields, input="word " * 1_400)
        assert caught.value.code == "insufficient_quota"
        assert found.requests == 1
