"""`POST /v1/audio/speech`: what comes back, in which form, and what is left behind."""

import asyncio
import base64
import io
import json
from typing import Any

import av
import pytest

from tenants.errors import LimitExceeded
from tests.tts.consumers.http_exchange import Exchange, begin
from tests.tts.speech.speech_fakes import SECRET, Platform, Script
from tts.consumers.http import SpeechHttpConsumer
from tts.engine.errors import QueueFull, SynthesisFailed, WorkerLost
from tts.engine.event import FinishReason

BODY: dict[str, Any] = {"input": "One two. Three.", "model": "tone", "voice": "both"}
HEADERS = {"authorization": f"Bearer {SECRET}", "content-type": "application/json"}


def ask(
    platform: Platform,
    body: bytes | None = None,
    *,
    method: str = "POST",
    headers: dict[str, str] | None = None,
    stall_seconds: float = 30.0,
    max_body: int = 100_000,
    **changes: Any,
) -> Exchange:
    async def service() -> Any:
        return platform.service

    application = SpeechHttpConsumer.as_asgi(
        service=service, stall_seconds=stall_seconds, max_body=max_body
    )
    exchange = begin(application, method=method, headers=HEADERS if headers is None else headers)
    exchange.give(json.dumps({**BODY, **changes}).encode() if body is None else body)
    return exchange


async def test_speaks(speech_platform: Platform) -> None:
    exchange = await ask(speech_platform, response_format="pcm").done()
    assert exchange.status == 200
    assert exchange.complete
    assert len(exchange.body) == 4 * 2_400 * 2
    assert speech_platform.outcomes.only.reason is FinishReason.COMPLETED
    assert speech_platform.outcomes.only.transport == "http"
    speech_platform.assert_nothing_left()


async def test_headers_say_what_served_it(speech_platform: Platform) -> None:
    headers = (await ask(speech_platform, quality_tier="realtime").done()).headers
    assert headers["x-quality-tier"] == "realtime"
    assert headers["x-model-version"] == "tone@1"
    assert headers["x-request-id"] == speech_platform.outcomes.only.request_id
    assert headers["cache-control"] == "no-cache"
    assert headers["x-accel-buffering"] == "no"
    assert headers["x-ratelimit-remaining-requests"] == "59"
    queue, ttfa = headers["server-timing"].split(", ")
    assert queue == "queue;dur=2.0"
    assert ttfa.startswith("ttfa;dur=")


@pytest.mark.parametrize(
    ("name", "content_type", "magic", "container"),
    [
        ("mp3", "audio/mpeg", b"\xff", "mp3"),
        ("opus", "audio/ogg; codecs=opus", b"OggS", "ogg"),
        ("aac", "audio/aac", b"\xff\xf1", "aac"),
        ("flac", "audio/flac", b"fLaC", "flac"),
        ("wav", "audio/wav", b"RIFF\xff\xff\xff\xff", "wav"),
        ("pcm", "audio/pcm;rate=24000;channels=1", b"\x00", ""),
    ],
)
async def test_bytes_are_what_content_type_says(
    speech_platform: Platform, name: str, content_type: str, magic: bytes, container: str
) -> None:
    exchange = await ask(speech_platform, response_format=name).done()
    assert exchange.headers["content-type"] == content_type
    assert exchange.body.startswith(magic)
    if container:
        with av.open(io.BytesIO(exchange.body), "r", format=container) as decoded:
            samples = sum(frame.samples for frame in decoded.decode(audio=0))
            rate = decoded.streams.audio[0].rate
        assert samples / rate == pytest.approx(0.4, abs=0.15)


async def test_one_header_in_a_stream_of_many_chunks(speech_platform: Platform) -> None:
    wav = (await ask(speech_platform, response_format="wav").done()).body
    assert wav.count(b"RIFF") == 1
    pcm = (await ask(speech_platform, response_format="pcm").done()).body
    assert wav[44:] == pcm


async def test_first_audio_is_sent_while_the_rest_is_still_to_come(
    speech_platform: Platform,
) -> None:
    speech_platform.gateway.script = Script(hang_before_chunk=1)
    exchange = ask(speech_platform, response_format="wav")
    await asyncio.wait_for(exchange.begun.wait(), 5)
    assert exchange.body.startswith(b"RIFF")
    assert not exchange.complete
    exchange.disconnect()
    await exchange.done()


async def test_resamples(speech_platform: Platform) -> None:
    exchange = await ask(speech_platform, response_format="pcm", sample_rate=48_000).done()
    assert exchange.headers["content-type"] == "audio/pcm;rate=48000;channels=1"
    assert len(exchange.body) == pytest.approx(4 * 2_400 * 2 * 2, rel=0.02)


async def test_disconnect_cancels_at_once(speech_platform: Platform) -> None:
    speech_platform.gateway.script = Script(hang_before_chunk=1)
    exchange = ask(speech_platform, response_format="pcm")
    await asyncio.wait_for(exchange.begun.wait(), 5)
    exchange.disconnect()
    await asyncio.wait_for(exchange.done(), 0.2)
    outcome = speech_platform.outcomes.only
    assert (outcome.reason, outcome.error_code) == (FinishReason.CANCELLED, "client_disconnected")
    speech_platform.assert_nothing_left()


async def test_disconnect_while_the_body_is_still_coming(speech_platform: Platform) -> None:
    async def service() -> Any:
        return speech_platform.service

    exchange = begin(SpeechHttpConsumer.as_asgi(service=service), headers=HEADERS)
    exchange.give(b'{"inp', more=True)
    exchange.disconnect()
    await exchange.done()
    assert exchange.status == 0


async def test_body_in_parts(speech_platform: Platform) -> None:
    async def service() -> Any:
        return speech_platform.service

    exchange = begin(SpeechHttpConsumer.as_asgi(service=service), headers=HEADERS)
    body = json.dumps(BODY).encode()
    exchange.give(body[:20], more=True)
    exchange.give(body[20:])
    assert (await exchange.done()).status == 200


@pytest.mark.parametrize(
    ("changes", "status", "code", "param"),
    [
        ({"input": ""}, 400, "missing_required_parameter", "input"),
        ({"input": " \t\n"}, 400, "missing_required_parameter", "input"),
        ({"input": "..."}, 400, "no_speakable_text", "input"),
        ({"input": "🙂"}, 400, "no_speakable_text", "input"),
        ({"input": "a" * 5_001}, 400, "string_above_max_length", "input"),
        ({"model": "nope"}, 404, "model_not_found", "model"),
        ({"voice": ""}, 400, "invalid_value", "voice"),
        ({"speed": 5}, 400, "invalid_value", "speed"),
        ({"speed": "fast"}, 400, "invalid_value", "speed"),
        ({"response_format": "ogg"}, 400, "invalid_value", "response_format"),
        ({"sample_rate": 1}, 400, "invalid_value", "sample_rate"),
        ({"voice": "af_heart", "language": "zh"}, 400, "language_not_supported", "voice"),
        ({"voice": "af_heart", "input": "你好"}, 400, "language_not_supported", "voice"),
        ({"quality_tier": "hq"}, 403, "tier_not_allowed", "quality_tier"),
        ({"model": "other", "quality_tier": "realtime"}, 403, "model_not_allowed", "model"),
    ],
)
async def test_refusals(
    speech_platform: Platform, changes: dict[str, Any], status: int, code: str, param: str
) -> None:
    exchange = await ask(speech_platform, **changes).done()
    assert exchange.status == status
    assert exchange.headers["content-type"] == "application/json"
    assert exchange.headers["x-request-id"]
    assert (exchange.error["code"], exchange.error["param"]) == (code, param)
    speech_platform.assert_nothing_left()


@pytest.mark.parametrize(
    ("headers", "body", "status", "code"),
    [
        ({**HEADERS, "authorization": ""}, None, 401, "invalid_api_key"),
        ({**HEADERS, "authorization": "Bearer vh_wrong"}, None, 401, "invalid_api_key"),
        ({"authorization": "Bearer vh_wrong", "content-type": "text/plain"}, None, 401,
         "invalid_api_key"),
        ({**HEADERS, "authorization": f"Basic {SECRET}"}, None, 401, "invalid_api_key"),
        ({**HEADERS, "content-type": "text/plain"}, None, 415, "unsupported_media_type"),
        ({**HEADERS, "content-type": "application/json; charset=gbk"}, None, 415,
         "unsupported_media_type"),
        ({**HEADERS, "content-encoding": "gzip"}, None, 415, "unsupported_media_type"),
        (HEADERS, b"{", 400, "invalid_body"),
        (HEADERS, b"\xff\xfe{", 400, "invalid_body"),
        (HEADERS, b"[]", 400, "invalid_body"),
        (HEADERS, b" " * 200_000, 413, "body_too_large"),
    ],
)  # fmt: skip
async def test_refused_requests(
    speech_platform: Platform,
    headers: dict[str, str],
    body: bytes | None,
    status: int,
    code: str,
) -> None:
    exchange = await ask(speech_platform, body, headers=headers).done()
    assert (exchange.status, exchange.error["code"]) == (status, code)
    assert speech_platform.gateway.streams == []


async def test_tenant_limit_says_when_to_come_back(speech_platform: Platform) -> None:
    speech_platform.limiter.refusal = LimitExceeded(
        "slow", limit="requests", scope="key", retry_after=1.5
    )
    exchange = await ask(speech_platform).done()
    assert exchange.status == 429
    assert exchange.headers["retry-after"] == "2"
    assert exchange.headers["retry-after-ms"] == "1500"
    assert exchange.headers["x-should-retry"] == "true"


async def test_full_queue_is_the_platforms_limit(speech_platform: Platform) -> None:
    speech_platform.gateway.script = Script(fail=QueueFull("no room", retry_after=3.0))
    exchange = await ask(speech_platform).done()
    assert (exchange.status, exchange.error["code"]) == (503, "queue_full")
    assert exchange.headers["retry-after"] == "3"


async def test_failure_before_audio_is_an_ordinary_error(speech_platform: Platform) -> None:
    speech_platform.gateway.script = Script(fail=SynthesisFailed("the engine failed"))
    exchange = await ask(speech_platform).done()
    assert (exchange.status, exchange.error["type"]) == (500, "server_error")
    assert exchange.headers["x-should-retry"] == "false"


async def test_no_audio_is_no_success(speech_platform: Platform) -> None:
    speech_platform.gateway.script = Script(chunks=0)
    exchange = await ask(speech_platform).done()
    assert (exchange.status, exchange.error["code"]) == (500, "no_audio")


async def test_failure_after_audio_leaves_the_response_incomplete(
    speech_platform: Platform,
) -> None:
    speech_platform.gateway.script = Script(fail=WorkerLost("gone"), fail_after_chunks=1)
    exchange = await ask(speech_platform, response_format="pcm").done()
    assert exchange.status == 200
    assert exchange.body
    assert not exchange.complete
    assert speech_platform.outcomes.only.error_code == "worker_lost"
    speech_platform.assert_nothing_left()


async def test_a_stream_that_the_process_ends_is_left_incomplete(speech_platform: Platform) -> None:
    speech_platform.gateway.script = Script(hang_before_chunk=1)
    exchange = ask(speech_platform, response_format="pcm")
    await asyncio.wait_for(exchange.begun.wait(), 5)
    await speech_platform.gateway.streams[0].cancel()
    await exchange.done()
    assert exchange.body
    assert not exchange.complete
    outcome = speech_platform.outcomes.only
    assert (outcome.reason, outcome.error_code) == (FinishReason.ERROR, "server_stopping")
    speech_platform.assert_nothing_left()


async def test_listener_that_does_not_read_is_given_up(speech_platform: Platform) -> None:
    speech_platform.gateway.script = Script(chunks=100)
    exchange = ask(speech_platform, response_format="pcm", stall_seconds=0.05)
    await asyncio.wait_for(exchange.begun.wait(), 5)
    exchange.open.clear()
    await exchange.done()
    assert not exchange.complete
    assert speech_platform.outcomes.only.error_code == "stream_stalled"
    speech_platform.assert_nothing_left()


async def test_unexpected_error_says_nothing_of_itself(speech_platform: Platform) -> None:
    async def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("secret detail")

    speech_platform.limiter.reserve = broken  # type: ignore[method-assign]
    exchange = await ask(speech_platform).done()
    assert (exchange.status, exchange.error["code"]) == (500, "internal_error")
    assert b"secret" not in exchange.body


async def test_sse(speech_platform: Platform) -> None:
    exchange = await ask(speech_platform, response_format="pcm", stream_format="sse").done()
    assert exchange.headers["content-type"].startswith("text/event-stream")
    *deltas, done = exchange.events
    assert [set(event) for event in deltas] == [{"type", "audio"}] * 4
    assert {event["type"] for event in deltas} == {"speech.audio.delta"}
    assert len(b"".join(base64.b64decode(event["audio"]) for event in deltas)) == 19_200
    assert done == {
        "type": "speech.audio.done",
        "usage": {"input_tokens": 15, "output_tokens": 20, "total_tokens": 35},
    }


async def test_sse_failure_before_audio_is_an_ordinary_error(speech_platform: Platform) -> None:
    speech_platform.gateway.script = Script(fail=QueueFull("no room"))
    exchange = await ask(speech_platform, stream_format="sse").done()
    assert exchange.status == 503
    assert exchange.error["code"] == "queue_full"


async def test_sse_failure_after_audio_is_an_event(speech_platform: Platform) -> None:
    speech_platform.gateway.script = Script(fail=WorkerLost("gone"), fail_after_chunks=1)
    exchange = await ask(speech_platform, response_format="pcm", stream_format="sse").done()
    assert exchange.complete
    assert exchange.events[-1] == {
        "type": "error",
        "error": {"message": "gone", "type": "server_error", "param": None, "code": "worker_lost"},
    }


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "PATCH"])
async def test_other_methods(speech_platform: Platform, method: str) -> None:
    exchange = await ask(speech_platform, b"", method=method).done()
    assert exchange.status == 405
    assert exchange.headers["allow"] == "POST, OPTIONS"
    if method == "HEAD":
        assert exchange.body == b""
        assert int(exchange.headers["content-length"]) > 0
    else:
        assert exchange.error["code"] == "method_not_allowed"


async def test_options_without_origin(speech_platform: Platform) -> None:
    exchange = await ask(speech_platform, b"", method="OPTIONS", headers={}).done()
    assert (exchange.status, exchange.headers["allow"]) == (204, "POST, OPTIONS")


async def test_no_text_and_no_key_in_a_log(
    speech_platform: Platform, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    for script in (Script(), Script(fail=SynthesisFailed("m")), Script(fail=QueueFull("m"))):
        speech_platform.gateway.script = script
        await ask(speech_platform, input="Wombat.").done()
    assert "Wombat" not in caplog.text
    assert SECRET not in caplog.text
