"""What callers may leave out, and what they are told about what cannot be spoken."""

import base64
import json
from typing import Any

import pytest

from tests.e2e.speech_client import PATH, SpeechClient

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("platform")]

LEAST = {"model": "tone", "voice": "tone-a", "input": "Hello there."}
FAST = LEAST | {"quality_tier": "realtime"}


def test_three_fields_are_enough(speech: SpeechClient) -> None:
    response = speech.http.post(PATH, json=LEAST)
    assert response.status_code == 200
    assert response.headers["content-type"] == "audio/mpeg"
    assert response.content


@pytest.mark.parametrize("stream", [True, False, None])
def test_stream_is_accepted_whatever_it_says(speech: SpeechClient, stream: bool | None) -> None:
    response = speech.http.post(PATH, json=FAST | {"stream": stream})
    assert response.status_code == 200
    assert response.content


def test_null_is_the_same_as_absent(speech: SpeechClient) -> None:
    optional = (
        "instructions", "response_format", "speed", "stream_format",
        "language", "seed", "sample_rate", "quality_tier",
    )  # fmt: skip
    response = speech.http.post(PATH, json=LEAST | dict.fromkeys(optional))
    assert response.status_code == 200
    plain = speech.http.post(PATH, json=LEAST)
    assert response.headers["content-type"] == plain.headers["content-type"]
    assert len(response.content) == len(plain.content)


@pytest.mark.parametrize("response_format", ["mp3", "pcm"])
def test_events_have_the_schema_that_clients_read(
    speech: SpeechClient, response_format: str
) -> None:
    fields = FAST | {"response_format": response_format, "seed": 1}
    response = speech.http.post(PATH, json=fields | {"stream_format": "sse"})
    assert response.headers["content-type"].startswith("text/event-stream")
    blocks = response.text.split("\n\n")
    assert blocks.pop() == ""
    assert all(block.startswith("data: ") and "\n" not in block for block in blocks)
    *deltas, done = [json.loads(block.removeprefix("data: ")) for block in blocks]
    assert deltas
    assert all(
        delta.keys() == {"type", "audio"} and delta["type"] == "speech.audio.delta"
        for delta in deltas
    )
    audio = b"".join(base64.b64decode(delta["audio"], validate=True) for delta in deltas)
    assert audio == speech.http.post(PATH, json=fields).content
    usage = done.pop("usage")
    assert done == {"type": "speech.audio.done"}
    assert usage["input_tokens"] == len(LEAST["input"])
    assert usage["output_tokens"] > 0
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]


@pytest.mark.parametrize(
    ("changes", "status", "code", "param"),
    [
        ({"input": ""}, 400, "missing_required_parameter", "input"),
        ({"input": " \t\n"}, 400, "missing_required_parameter", "input"),
        ({"input": "..."}, 400, "no_speakable_text", "input"),
        ({"input": "🙂"}, 400, "no_speakable_text", "input"),
        ({"input": "[uv_break]"}, 400, "no_speakable_text", "input"),
        ({"voice": "nobody"}, 404, "voice_not_found", "voice"),
        ({"voice": "../../etc/passwd"}, 404, "voice_not_found", "voice"),
        ({"voice": ""}, 400, "invalid_value", "voice"),
        ({"model": "nothing"}, 404, "model_not_found", "model"),
        ({"response_format": "ogg"}, 400, "invalid_value", "response_format"),
        ({"speed": 5}, 400, "invalid_value", "speed"),
        ({"language": "fr"}, 400, "invalid_value", "language"),
    ],
)
def test_what_cannot_be_spoken_is_an_error_that_says_why(
    speech: SpeechClient, changes: dict[str, Any], status: int, code: str, param: str
) -> None:
    response = speech.http.post(PATH, json=FAST | changes)
    assert response.status_code == status, response.text
    error = response.json()["error"]
    assert (error["code"], error["param"]) == (code, param)
    assert error["message"]
    assert error["type"] == ("not_found_error" if status == 404 else "invalid_request_error")
