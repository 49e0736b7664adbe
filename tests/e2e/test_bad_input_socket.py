"""A WebSocket misused: every frame is answered by a typed error, and fatal ones by a close code."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from tests.e2e.bad_input import Target, envelope_check
from tests.e2e.pair import until
from tests.e2e.speech_client import PATH

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("platform")]

SETTINGS = {"model": "tone", "voice": "tone-a", "quality_tier": "wide-open"}
SECONDS = 10.0


class Abuser:
    """A client that sends anything, and reads what is said about it."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection

    def send(self, kind: str, **fields: Any) -> None:
        """Send a message."""
        self.connection.send(json.dumps({"type": kind, **fields}))

    def until(self, kind: str) -> dict[str, Any]:
        """The next message of `kind`; others and audio are passed over."""
        while True:
            frame = self.connection.recv(SECONDS)
            if isinstance(frame, str):
                event: dict[str, Any] = json.loads(frame)
                if event["type"] == kind:
                    return event

    def error(self, code: str, status: int = 400, param: str | None = None) -> dict[str, Any]:
        """The next error, which must be exactly this one."""
        event = self.until("error")
        envelope_check({"error": event["error"]}, status, code, param)
        return event

    def close_code(self) -> int | None:
        """How the server closes, once it does."""
        with suppress(ConnectionClosed):
            while True:
                self.connection.recv(SECONDS)
        return self.connection.protocol.close_code

    def is_fine(self) -> None:
        """The socket still serves."""
        self.send("ping", event_id="still")
        assert self.until("pong")["event_id"] == "still"


@contextmanager
def opened(
    target: Target,
    *,
    secret: str | None = None,
    query: str = "",
    protocols: tuple[str, ...] = ("tts.v1",),
    **headers: str,
) -> Iterator[Abuser]:
    """A socket before anything was read from it."""
    given = dict(headers)
    if secret != "":
        given["Authorization"] = f"Bearer {secret or target.keys['wide']}"
    url = f"ws://{target.address[0]}:{target.address[1]}{PATH}/stream{query}"
    with connect(
        url,
        additional_headers=given,
        subprotocols=[Subprotocol(name) for name in protocols],
        proxy=None,
    ) as connection:
        yield Abuser(connection)


@pytest.fixture
def client(target: Target) -> Iterator[Abuser]:
    """A socket that is ready to speak in tones."""
    with opened(target) as abuser:
        abuser.until("session.created")
        abuser.send("session.update", **SETTINGS)
        abuser.until("session.updated")
        yield abuser


def test_socket_speaks(client: Abuser) -> None:
    client.send("input_text.append", text="Hi.")
    client.send("input_text.end")
    assert client.until("speech.done")["reason"] == "completed"


@pytest.mark.parametrize("secret", ["vh_wrong", "a.b.c", "revoked", "expired"])
def test_handshake_with_a_bad_secret(target: Target, secret: str) -> None:
    secret = target.keys.get(secret, secret)
    ways: list[dict[str, Any]] = [
        {"secret": secret},
        {"secret": "", "protocols": ("tts.v1", f"tts.key.{secret}")},
    ]
    if "." in secret:
        ways.append({"secret": "", "query": f"?token={secret}"})
    for way in ways:
        with opened(target, **way) as abuser:
            error = abuser.error("invalid_api_key", 401)
            assert error["fatal"] is True
            assert secret not in json.dumps(error)
            assert abuser.close_code() == 4401


def test_handshake_with_a_key_in_the_address(target: Target) -> None:
    with opened(target, secret="", query=f"?token={target.keys['wide']}") as abuser:
        error = abuser.error("key_in_address", 401, "token")
        assert target.keys["wide"] not in json.dumps(error)
        assert abuser.close_code() == 4401


def test_no_socket_at_another_address(target: Target) -> None:
    host, port = target.address
    with (
        pytest.raises(InvalidStatus) as caught,
        connect(f"ws://{host}:{port}/v1/audio/speak", proxy=None),
    ):
        pytest.fail("accepted")
    response = caught.value.response
    assert response.status_code == 404
    envelope_check(json.loads(response.body or b""), 404, "unknown_url")


def test_handshake_without_a_key(target: Target) -> None:
    with opened(target, secret="") as abuser:
        abuser.error("invalid_api_key", 401)
        assert abuser.close_code() == 4401


def test_handshake_with_a_key_for_something_else(target: Target) -> None:
    body = {"scopes": ["voices"]}
    token = target.http.post("/v1/tokens", json=body, headers=target.headers()).json()["token"]
    for secret in (target.keys["mute"], token):
        with opened(target, secret=secret) as abuser:
            abuser.error("scope_missing", 403)
            assert abuser.close_code() == 4403


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost.evil"])
def test_handshake_of_a_foreign_page(target: Target, origin: str) -> None:
    with opened(target, Origin=origin) as abuser:
        abuser.error("origin_refused", 403)
        assert abuser.close_code() == 4403


def test_handshake_with_an_unknown_subprotocol(target: Target) -> None:
    with opened(target, protocols=("tts.v9",)) as abuser:
        abuser.error("unsupported_subprotocol")
        assert abuser.close_code() == 1008


def test_binary_where_text_is_due(client: Abuser) -> None:
    client.connection.send(b"\x00\x01")
    assert client.error("unexpected_binary")["fatal"] is True
    assert client.close_code() == 1003


def test_oversized_message(client: Abuser) -> None:
    client.send("input_text.append", text="a" * 70_000)
    client.error("message_too_large", 413)
    assert client.close_code() == 1009


def test_oversized_frame(client: Abuser) -> None:
    with suppress(ConnectionClosed):
        client.connection.send("x" * 3_000_000)
    assert client.close_code() == 1009


@pytest.mark.parametrize(
    ("frame", "code", "param"),
    [
        ("", "invalid_json", None), ("{", "invalid_json", None), ("hello", "invalid_json", None),
        ('{"type": "ping"}x', "invalid_json", None), ("[" * 5_000, "invalid_message", None),
        ('{"type": "input_text.append", "text": "\\ud800"}', "invalid_character", "text"),
        ('{"type": "playback.position", "ms": NaN}', "invalid_json", None),
        ("null", "invalid_message", None), ("[]", "invalid_message", None),
        ("1", "invalid_message", None),
        ("{}", "invalid_message", "type"), ('{"type": 5}', "invalid_message", "type"),
        ('{"type": "fly"}', "invalid_message", "type"),
        ('{"type": "ping", "type": "session.close"}', "invalid_message", "type"),
        ('{"type": "input_text.append"}', "invalid_message", "text"),
        ('{"type": "input_text.append", "text": 5}', "invalid_message", "text"),
        ('{"type": "input_text.append", "text": null}', "invalid_message", "text"),
        ('{"type": "input_text.append", "text": "a", "context_id": ""}', "invalid_message",
         "context_id"),
        ('{"type": "input_text.append", "text": "a", "context_id": "a b"}', "invalid_message",
         "context_id"),
        ('{"type": "input_text.end", "context_id": "%s"}' % ("x" * 65), "invalid_message",
         "context_id"),
        ('{"type": "input_text.flush", "flush_id": "%s"}' % ("x" * 65), "invalid_message",
         "flush_id"),
        ('{"type": "ping", "event_id": "%s"}' % ("x" * 65), "invalid_message", "event_id"),
        ('{"type": "playback.position", "ms": -1}', "invalid_message", "ms"),
        ('{"type": "playback.position", "ms": 1e400}', "invalid_message", "ms"),
        ('{"type": "playback.position"}', "invalid_message", "ms"),
        ('{"type": "session.update", "speed": "fast"}', "invalid_message", "speed"),
        ('{"type": "session.update", "voice": {"id": 5}}', "invalid_message", "voice"),
        ('{"type": "session.update", "seed": 1.5}', "invalid_message", "seed"),
        ('{"type": "session.update", "max_buffer_delay_ms": 99}', "invalid_message",
         "max_buffer_delay_ms"),
        ('{"type": "session.update", "audio_transport": "pigeon"}', "invalid_message",
         "audio_transport"),
    ],
    ids=lambda value: value[:60] if isinstance(value, str) else None,
)  # fmt: skip
def test_frame_that_is_no_message(client: Abuser, frame: str, code: str, param: str | None) -> None:
    client.connection.send(frame)
    assert client.error(code, param=param)["fatal"] is False
    client.is_fine()


@pytest.mark.parametrize(
    ("update", "param"),
    [
        ({"speed": 99}, "speed"), ({"seed": -1}, "seed"), ({"seed": 2**70}, "seed"),
        ({"sample_rate": 10**18}, "sample_rate"), ({"response_format": "wav"}, "response_format"),
        ({"response_format": "ogg"}, "response_format"), ({"language": "fr"}, "language"),
        ({"model": ""}, "model"), ({"voice": {}}, "voice"), ({"voice": "v" * 201}, "voice"),
        ({"split": "paragraph"}, "split"), ({"instructions": "x" * 4097}, "instructions"),
    ],
)  # fmt: skip
def test_setting_that_is_not_taken(client: Abuser, update: dict[str, Any], param: str) -> None:
    client.send("session.update", **update)
    client.error("invalid_value", 400, param)
    client.send("input_text.append", text="Hi.")
    client.send("input_text.end")
    assert client.until("speech.done")["reason"] == "completed"


@pytest.mark.parametrize(
    ("settings", "text", "status", "code", "param"),
    [
        ({"voice": "nobody"}, "Hi.", 404, "voice_not_found", "voice"),
        ({"model": "nothing"}, "Hi.", 404, "model_not_found", "model"),
        ({"quality_tier": "gold"}, "Hi.", 400, "unknown_quality_tier", "quality_tier"),
        ({}, "a\0b", 400, "invalid_character", "text"),
        ({}, "Привет", 400, "unsupported_language", "text"),
        ({}, "Go on [speed_12]now.", 400, "invalid_control_token", "text"),
        ({"voice": "english-only"}, "你好。", 400, "language_not_supported", "voice"),
    ],
)  # fmt: skip
def test_context_that_cannot_be_spoken(
    client: Abuser, settings: dict[str, Any], text: str, status: int, code: str, param: str
) -> None:
    client.send("session.update", **settings)
    client.send("input_text.append", text=text, context_id="bad")
    client.send("input_text.end", context_id="bad")
    assert client.error(code, status, param)["context_id"] == "bad"
    assert client.until("speech.done")["reason"] == "error"
    client.is_fine()


def test_voice_of_another_tenant(target: Target) -> None:
    with opened(target, secret=target.keys["other"]) as abuser:
        abuser.send("session.update", **(SETTINGS | {"voice": "own-voice"}))
        abuser.send("input_text.append", text="Hi.")
        assert "english-only" not in json.dumps(abuser.error("voice_not_found", 404, "voice"))


def test_text_over_the_tiers_limit(target: Target) -> None:
    with opened(target, secret=target.keys["narrow"]) as abuser:
        abuser.send("session.update", model="tone", voice="tone-a")
        abuser.send("input_text.append", text="a" * 2_001)
        abuser.error("string_above_max_length", 400, "text")


def test_frames_out_of_order(client: Abuser) -> None:
    client.send("input_text.flush", flush_id="f")
    assert client.until("flush.done")["characters"] == 0
    client.send("input_text.end")
    assert client.until("speech.done")["usage"] == {"characters": 0}
    client.send("context.cancel", context_id="never")
    assert client.until("context.cancelled")["audio_sent_ms"] == 0
    client.send("playback.position", context_id="never", ms=1e300)
    # More than may be sent before the client says what it heard: it is not over too soon.
    client.send("input_text.append", text="This goes on. " * 100)
    client.send("input_text.end")
    client.send("playback.position", ms=1e300)
    client.send("input_text.end")
    client.send("input_text.append", text="More.")
    client.error("context_ended", 409, "context_id")
    client.error("context_ended", 409, "context_id")
    client.send("context.cancel")
    assert client.until("context.cancelled")["audio_sent_ms"] >= 0
    client.is_fine()


def test_frames_after_the_close(client: Abuser) -> None:
    client.send("session.close")
    # The server may have closed already.
    with suppress(ConnectionClosed):
        client.send("input_text.append", text="Too late.")
        client.connection.send("{")
    assert client.close_code() == 1000


def test_more_text_than_a_context_holds(client: Abuser) -> None:
    for _ in range(5):
        client.send("input_text.append", text="word " * 1_400)
    client.error("buffer_full", 429, "text")
    client.send("context.cancel")
    client.until("context.cancelled")
    client.is_fine()


def test_errors_without_end_close_the_socket(client: Abuser) -> None:
    for _ in range(25):
        client.connection.send("{")
    seen = [client.error("invalid_json") for _ in range(20)]
    assert [error["fatal"] for error in seen] == [False] * 19 + [True]
    assert client.close_code() == 1008


def test_ten_thousand_names_of_contexts(target: Target) -> None:
    before = target.web_memory()
    with opened(target) as abuser:
        abuser.send("session.update", **SETTINGS)
        with suppress(ConnectionClosed):
            for number in range(10_000):
                abuser.send("input_text.append", text="a", context_id=f"c{number}")
        codes: Counter[str] = Counter()
        with suppress(ConnectionClosed):
            while True:
                frame = abuser.connection.recv(SECONDS)
                event = json.loads(frame) if isinstance(frame, str) else {}
                codes[event.get("error", {}).get("code") or "other"] += 1
        assert codes["too_many_contexts"] == 20
        assert abuser.connection.protocol.close_code == 1008
    until(lambda: not target.left(), seconds=5)
    assert target.web_memory() - before < 20_000_000


def test_socket_where_there_is_none(target: Target) -> None:
    for path in ("/v1/audio/speech", "/v1/audio/speech/stream/", "/admin/", "/"):
        url = f"ws://{target.address[0]}:{target.address[1]}{path}"
        with pytest.raises(InvalidHandshake), connect(url, proxy=None):
            pass


def test_many_bad_handshakes_leave_nothing(target: Target) -> None:
    before = target.web_memory()
    for _ in range(200):
        with opened(target, secret="vh_wrong") as abuser:
            assert abuser.close_code() == 4401
    assert target.web_memory() - before < 20_000_000
