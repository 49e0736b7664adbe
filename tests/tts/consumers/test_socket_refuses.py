"""What a socket refuses, how it says so, and which close code follows."""

import json
from typing import Any

import pytest
from django.test import override_settings

from tenants.errors import LimitExceeded
from tests.tts.consumers.socket_client import connected
from tests.tts.speech.speech_fakes import SECRET, TOKEN, Platform
from tts.consumers.protocol import error_encode
from tts.consumers.settings import SocketLimits
from tts.engine.errors import NothingToSpeak, QueueFull, WorkerLost
from tts.speech.problem import problem_of
from tts.text.errors import InvalidCharacter


async def test_a_ping_is_answered(speech_platform: Platform) -> None:
    async with connected(speech_platform) as client:
        await client.send("ping", event_id="e7")
        _, pong = await client.until("pong")
        assert pong["event_id"] == "e7"


@pytest.mark.parametrize("secret", ["", "vh_wrong"])
async def test_a_bad_key_is_told_and_closed_4401(speech_platform: Platform, secret: str) -> None:
    async with connected(speech_platform, secret=secret, greeted=False) as client:
        _, error = await client.until("error")
        assert error["error"]["code"] == "invalid_api_key"
        assert error["fatal"] is True
        assert await client.close_code() == 4401


@pytest.mark.parametrize(
    "how",
    [
        {"query": f"?token={TOKEN}", "headers": []},
        {"secret": TOKEN},
        {"subprotocols": ["tts.v1", f"tts.key.{SECRET}"], "headers": []},
        {"subprotocols": ["tts.v1", f"tts.key.{TOKEN}"], "headers": []},
    ],
)
async def test_a_token_may_come_by_query_and_either_by_subprotocol(
    speech_platform: Platform, how: dict[str, object]
) -> None:
    async with connected(speech_platform, **how) as client:  # type: ignore[arg-type]  # a table of cases
        await client.send("ping")
        await client.until("pong")


@pytest.mark.parametrize(
    "how",
    [
        {"query": f"?token={SECRET}", "headers": []},
        {"query": f"?token={SECRET}", "secret": SECRET},
        {"query": "?token=vh_wrong", "headers": []},
        {"query": f"?api_key={SECRET}", "headers": []},
    ],
)
async def test_a_key_in_an_address_is_refused_and_never_logged(
    speech_platform: Platform, how: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    async with connected(speech_platform, greeted=False, **how) as client:
        _, error = await client.until("error")
        assert error["error"]["code"] == "key_in_address"
        assert error["error"]["type"] == "authentication_error"
        assert error["fatal"] is True
        assert await client.close_code() == 4401
    assert "vh_" not in caplog.text + json.dumps(error)


async def test_another_subprotocol_is_closed_1008(speech_platform: Platform) -> None:
    async with connected(speech_platform, subprotocols=["graphql"], greeted=False) as client:
        _, error = await client.until("error")
        assert error["error"]["code"] == "unsupported_subprotocol"
        assert await client.close_code() == 1008


@pytest.mark.parametrize("origin", [b"https://evil.example", b"null"])
async def test_a_foreign_origin_is_closed_4403(speech_platform: Platform, origin: bytes) -> None:
    headers = [
        (b"authorization", f"Bearer {SECRET}".encode()),
        (b"host", b"speech.example"),
        (b"origin", origin),
    ]
    async with connected(speech_platform, headers=headers, greeted=False) as client:
        _, error = await client.until("error")
        assert error["error"]["code"] == "origin_refused"
        assert await client.close_code() == 4403


@override_settings(CORS_ALLOWED_ORIGINS=["https://app.example"])
async def test_own_and_listed_origins_may_connect(speech_platform: Platform) -> None:
    for origin in (b"https://speech.example", b"https://app.example"):
        headers = [
            (b"authorization", f"Bearer {SECRET}".encode()),
            (b"host", b"speech.example"),
            (b"origin", origin),
        ]
        async with connected(speech_platform, headers=headers):
            pass


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{", "invalid_json"),
        ("[]", "invalid_message"),
        ('{"type": "nonsense"}', "invalid_message"),
        ('{"type": "input_text.append"}', "invalid_message"),
        ('{"type": "input_text.append", "text": 5}', "invalid_message"),
        ('{"type": "input_text.append", "text": "x", "context_id": "a b"}', "invalid_message"),
        ('{"type": "session.update", "speed": 9}', "invalid_value"),
        ('{"type": "session.update", "response_format": "wav"}', "invalid_value"),
        ('{"type": "session.update", "split": "word"}', "invalid_value"),
        ('{"type": "session.update", "first_chunk_chars": 5}', "invalid_message"),
        ('{"type": "playback.position", "ms": -1}', "invalid_message"),
    ],
)
async def test_bad_messages_are_told_and_the_socket_goes_on(
    speech_platform: Platform, text: str, code: str
) -> None:
    async with connected(speech_platform) as client:
        await client.send_raw(text_data=text)
        _, error = await client.until("error")
        assert error["error"]["code"] == code
        assert error["fatal"] is False
        await client.send("ping")
        await client.until("pong")


@pytest.mark.parametrize(
    ("text", "code", "param"),
    [
        ('{"type": "fly"}', "invalid_message", "type"),
        ('{"text": "x"}', "invalid_message", "type"),
        ('{"type": "input_text.append"}', "invalid_message", "text"),
        ('{"type": "input_text.append", "text": 5}', "invalid_message", "text"),
        ('{"type": "input_text.end", "context_id": "a b"}', "invalid_message", "context_id"),
        ('{"type": "context.cancel", "context_id": "a b"}', "invalid_message", "context_id"),
        ('{"type": "ping", "event_id": 5}', "invalid_message", "event_id"),
        ('{"type": "playback.position", "ms": -1}', "invalid_message", "ms"),
        ('{"type": "session.update", "voice": {"id": 5}}', "invalid_message", "voice"),
        ('{"type": "session.update", "audio_transport": "pigeon"}', "invalid_message",
         "audio_transport"),
        ('{"type": "session.update", "speed": 9}', "invalid_value", "speed"),
        ('{"type": "session.update", "split": "word"}', "invalid_value", "split"),
        ('{"type": "input_text.append", "text": "\\ud800"}', "invalid_character", "text"),
        ("[]", "invalid_message", None),
        ("{", "invalid_json", None),
    ],
)  # fmt: skip
async def test_errors_name_the_field(
    speech_platform: Platform, text: str, code: str, param: str | None
) -> None:
    async with connected(speech_platform) as client:
        await client.send_raw(text_data=text)
        _, error = await client.until("error")
        assert error["error"]["code"] == code
        assert error["error"].get("param") == param


def test_a_character_that_is_no_text_is_told_in_its_field() -> None:
    problem = problem_of(InvalidCharacter("\0", 3))
    assert json.loads(error_encode(problem))["error"]["param"] == "text"


async def test_errors_of_the_text_name_the_field_it_came_in(speech_platform: Platform) -> None:
    speech_platform.gateway.script.fail = NothingToSpeak("nothing that the engine reads")
    async with connected(speech_platform) as client:
        await client.send("input_text.append", text="One.")
        _, error = await client.until("error", context_id="default")
        assert (error["error"]["code"], error["error"]["param"]) == ("no_speakable_text", "text")


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "x" * 9_000},
        {"type": "x' - at `$.y`" * 900},
        {"type": "session.update", "audio_transport": "x" * 9_000},
        {"type": "session.update", "split": "x" * 9_000},
        {"type": "session.update", "voice": "x" * 9_000},
        {"type": "session.update", "response_format": "x" * 9_000},
        {"type": "session.update", "seed": 10**4_200},
        {"type": "session.update", "sample_rate": 10**4_200},
        {"type": "session.update", "first_chunk_chars": 10**4_200},
        {"type": "context.cancel", "context_id": "x" * 9_000},
    ],
    ids=lambda fields: str(fields)[:50],
)
async def test_errors_repeat_no_long_value(
    speech_platform: Platform, fields: dict[str, object]
) -> None:
    async with connected(speech_platform) as client:
        await client.send_raw(text_data=json.dumps(fields))
        _, error = await client.until("error")
        assert len(error["error"]["message"]) < 320
        assert error["error"]["param"] in fields


async def test_errors_say_what_is_allowed(speech_platform: Platform) -> None:
    async with connected(speech_platform) as client:
        await client.send("fly")
        _, error = await client.until("error")
        assert error["error"]["message"].startswith("Invalid value 'fly' - at `$.type`; allowed ")
        assert "input_text.append" in error["error"]["message"]


async def test_errors_echo_the_event_id(speech_platform: Platform) -> None:
    async with connected(speech_platform) as client:
        await client.send("input_text.append", text=5, event_id="mine")
        _, error = await client.until("error")
        assert error["event_id"] == "mine"


async def test_binary_where_text_is_due_is_closed_1003(speech_platform: Platform) -> None:
    async with connected(speech_platform) as client:
        await client.send_raw(bytes_data=b"\x00\x01")
        _, error = await client.until("error")
        assert error["error"]["code"] == "unexpected_binary"
        await client.until("session.closing")
        assert await client.close_code() == 1003


async def test_an_oversized_message_is_closed_1009(speech_platform: Platform) -> None:
    async with connected(speech_platform, limits=SocketLimits(message_bytes=100)) as client:
        await client.send("input_text.append", text="x" * 100)
        _, error = await client.until("error")
        assert error["error"]["code"] == "message_too_large"
        await client.until("session.closing")
        assert await client.close_code() == 1009


async def test_a_full_buffer_refuses_the_text_and_keeps_the_context(
    speech_platform: Platform,
) -> None:
    async with connected(speech_platform, limits=SocketLimits(buffer_characters=20)) as client:
        await client.send("input_text.append", text="x" * 21, event_id="big")
        _, error = await client.until("error")
        assert error["error"]["code"] == "buffer_full"
        assert (error["event_id"], error["context_id"]) == ("big", "default")
        await client.send("input_text.append", text="Short.")
        await client.send("input_text.end")
        await client.until("speech.done")


async def test_text_after_the_end_is_refused(speech_platform: Platform) -> None:
    speech_platform.gateway.script.hang_before_chunk = 0
    async with connected(speech_platform) as client:
        await client.send("input_text.append", text="One.")
        await client.send("input_text.end")
        await client.send("input_text.append", text="Two.")
        _, error = await client.until("error")
        assert error["error"]["code"] == "context_ended"


async def test_too_many_contexts(speech_platform: Platform) -> None:
    async with connected(speech_platform, limits=SocketLimits(contexts=2)) as client:
        for name in ("a", "b", "c"):
            await client.send("input_text.append", context_id=name, text="Text")
        _, error = await client.until("error")
        assert error["error"]["code"] == "too_many_contexts"
        assert error["context_id"] == "c"


@pytest.mark.parametrize("error", [QueueFull("full", retry_after=2.0), WorkerLost("gone")])
async def test_engine_errors_end_the_context_only(
    speech_platform: Platform, error: QueueFull | WorkerLost
) -> None:
    speech_platform.gateway.script.fail = error
    async with connected(speech_platform) as client:
        await client.send("input_text.append", text="One.")
        _, told = await client.until("error", context_id="default")
        assert told["error"]["code"] == error.code
        _, done = await client.until("speech.done")
        assert done["reason"] == "error"
        speech_platform.gateway.script.fail = None
        await client.send("input_text.append", text="Two.")
        await client.send("input_text.end")
        _, done = await client.until("speech.done")
        assert done["reason"] == "completed"


async def test_a_limit_is_told_with_its_wait(speech_platform: Platform) -> None:
    speech_platform.limiter.refusal = LimitExceeded(
        "too many", limit="requests", scope="key", retry_after=3.5
    )
    async with connected(speech_platform) as client:
        await client.send("input_text.append", text="One.")
        _, told = await client.until("error")
        assert told["error"]["code"] == "rate_limit_exceeded"
        assert told["retry_after"] == 3.5


async def test_an_idle_socket_is_closed_4408(speech_platform: Platform) -> None:
    async with connected(speech_platform, limits=SocketLimits(idle_seconds=0.05)) as client:
        await client.until("session.closing", reason="idle")
        assert await client.close_code() == 4408
