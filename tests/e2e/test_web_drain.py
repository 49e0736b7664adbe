"""SIGTERM to a web process of either server: not ready, nothing new, what runs is spoken out."""

import http.client
import json
import os
import re
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from tests.e2e.long_speech import CHARACTER_SECONDS, RATE, long_tone_make, speech_asked
from tests.e2e.pair import speech_body, until
from tests.e2e.platform import Platform, platform_running
from tests.e2e.speaking import SLACK
from tests.e2e.without_voices import python_path_without_voices

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("drain"), pytest.mark.timeout(180)]

GRACE_SECONDS = 5.0
"""What `platform_running` gives."""
ANSI = re.compile(r"\x1b\[[0-9;]*m")
SHORT_TEXT = "spoken out"
LONG_TEXT = "this is spoken for a long while " * 40
COST_MS = 150.0


@dataclass
class Heard:
    """What came over a socket until its close, and how long after the signal that was."""

    messages: list[dict[str, Any]] = field(default_factory=list)
    audio: int = 0
    close: int = 0
    seconds: float = 0.0

    def only(self, kind: str) -> dict[str, Any]:
        (message,) = [message for message in self.messages if message["type"] == kind]
        return message


@dataclass
class Stop:
    """What clients of a web process saw from its SIGTERM on."""

    server: str
    late: tuple[int, Any] = (0, None)
    readiness: tuple[int, Any] = (0, None)
    idle_end: bytes = b"?"
    short_bytes: int = 0
    long_broken: bool = False
    idle_socket: "Heard" = field(default_factory=lambda: Heard())
    short_socket: "Heard" = field(default_factory=lambda: Heard())
    long_socket: "Heard" = field(default_factory=lambda: Heard())
    seconds: float = 0.0
    log: str = ""


@dataclass(frozen=True, slots=True)
class HalfSent:
    """A request whose `rest` has not been sent."""

    connection: socket.socket
    rest: bytes

    def answer(self) -> tuple[int, Any]:
        """Send the rest: the status and the JSON that come back."""
        self.connection.sendall(self.rest)
        response = http.client.HTTPResponse(self.connection)
        response.begin()
        return response.status, json.loads(response.read())


@pytest.fixture(scope="module", params=["daphne", "uvicorn"])
def stop(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stop]:
    folder = tmp_path_factory.mktemp("drain")
    with platform_running(
        folder / "var",
        ASGI_SERVER=request.param,
        OMP_NUM_THREADS="1",
        PYTHONPATH=python_path_without_voices(folder / "python"),
    ) as platform:
        long_tone_make(platform, cost_ms=COST_MS)
        until(lambda: _spoken_once(platform))
        stop = Stop(request.param)
        _stop_in_mid_speech(platform, stop)
        # The supervisor tells of an end a moment after it.
        log = platform.var_dir / "serve.log"
        until(lambda: "process_ended" in log.read_text())
        stop.log = log.read_text()
        yield stop


def _stop_in_mid_speech(platform: Platform, stop: Stop) -> None:
    (web,) = platform.processes("run_web")
    with (
        _socket(platform) as idle_socket,
        _socket_speaking(platform, SHORT_TEXT) as short_socket,
        _socket_speaking(platform, LONG_TEXT) as long_socket,
        _connection(platform) as idle,
        _half_sent(platform, "POST", "/v1/audio/speech", speech_body("long", "late")) as late,
        _half_sent(platform, "GET", "/readyz", b"{}") as readiness,
    ):
        streams = [speech_asked(platform, "long", text) for text in (SHORT_TEXT, LONG_TEXT)]
        responses = [stream.getresponse() for stream in streams]
        heard = [response.read1() for response in responses]
        assert all(heard)
        os.kill(web, signal.SIGTERM)
        began = time.monotonic()
        until(lambda: "web_stopping" in (platform.var_dir / "serve.log").read_text())
        stop.late, stop.readiness = late.answer(), readiness.answer()
        stop.idle_end = idle.recv(1)
        _listen_to_the_end(idle_socket, stop.idle_socket, began)
        _say(short_socket, "input_text.append", text="late", context_id="late", event_id="e1")
        stop.short_bytes = len(heard[0]) + len(responses[0].read())
        _listen_to_the_end(short_socket, stop.short_socket, began)
        _listen_to_the_end(long_socket, stop.long_socket, began)
        try:
            responses[1].read()
        except (http.client.IncompleteRead, ConnectionError):
            stop.long_broken = True
        until(lambda: not Path(f"/proc/{web}").exists())
        stop.seconds = time.monotonic() - began
        for stream in streams:
            stream.close()


def test_streams_over_http_finish(stop: Stop) -> None:
    seconds = stop.short_bytes / 2 / RATE
    assert seconds == pytest.approx(len(SHORT_TEXT) * CHARACTER_SECONDS, abs=0.5)


def test_sockets_finish_what_they_speak_and_say_why_they_close(stop: Stop) -> None:
    heard = stop.short_socket
    assert heard.only("speech.done")["reason"] == "completed"
    assert heard.audio / 2 / RATE == pytest.approx(len(SHORT_TEXT) * CHARACTER_SECONDS, abs=0.5)
    assert heard.messages[-1] == {"type": "session.closing", "reason": "server_stopping"}
    assert heard.close == 1001


def test_sockets_refuse_what_is_new(stop: Stop) -> None:
    error = stop.short_socket.only("error")
    assert (error["error"]["code"], error["event_id"]) == ("server_stopping", "e1")
    assert (error["context_id"], error["fatal"]) == ("late", False)


def test_an_idle_socket_is_closed_at_once(stop: Stop) -> None:
    assert [message["type"] for message in stop.idle_socket.messages][-1] == "session.closing"
    assert stop.idle_socket.close == 1001
    assert stop.idle_socket.seconds < GRACE_SECONDS / 2


def test_a_socket_that_speaks_beyond_the_grace_is_told_so(stop: Stop) -> None:
    heard = stop.long_socket
    error, done, closing = heard.messages[-3:]
    assert (error["error"]["code"], error["fatal"]) == ("server_stopping", True)
    assert (done["type"], done["reason"]) == ("speech.done", "error")
    assert closing == {"type": "session.closing", "reason": "server_stopping"}
    assert heard.close == 1001
    assert heard.seconds > GRACE_SECONDS - 0.5


def test_what_arrives_later_is_refused(stop: Stop) -> None:
    status, body = stop.late
    assert status == 503
    assert body["error"]["code"] == "server_stopping"


def test_it_is_not_ready_at_once(stop: Stop) -> None:
    status, body = stop.readiness
    assert status == 503
    assert body["status"] == "not ready"
    assert body["checks"]["process"] == "stopping"


def test_idle_connections_end(stop: Stop) -> None:
    assert stop.idle_end == b""


def test_a_stream_beyond_the_grace_is_visibly_broken(stop: Stop) -> None:
    assert stop.long_broken


def test_a_stream_beyond_the_grace_is_not_put_down_to_its_client(stop: Stop) -> None:
    lines = [line for line in ANSI.sub("", stop.log).splitlines() if "speech_finished" in line]
    codes = [code for line in lines for code in re.findall(r"\berror\W+(\w+)", line)]
    assert codes.count("server_stopping") >= 1
    assert "client_disconnected" not in codes


def test_the_stop_ends_in_time_and_in_order(stop: Stop) -> None:
    assert GRACE_SECONDS - 0.5 < stop.seconds < GRACE_SECONDS + 1.0 + SLACK
    # The supervisor did not ask for it, and so tells of it.
    assert "Traceback" not in stop.log
    (line,) = [line for line in stop.log.splitlines() if "process_ended" in line]
    assert re.search(r"\bcode\W+0\b", ANSI.sub("", line))
    assert "web-0" in line


def _spoken_once(platform: Platform) -> bool:
    connection = speech_asked(platform, "long", "a")
    try:
        response = connection.getresponse()
        response.read()
        return response.status == 200
    finally:
        connection.close()


def _connection(platform: Platform) -> socket.socket:
    """A connection that is kept alive after a request."""
    connection = socket.create_connection((platform.host, platform.port), timeout=30)
    connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    response = http.client.HTTPResponse(connection)
    response.begin()
    assert response.status == 200
    response.read()
    return connection


@contextmanager
def _half_sent(platform: Platform, method: str, path: str, body: bytes) -> Iterator[HalfSent]:
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {platform.key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection((platform.host, platform.port), timeout=30) as connection:
        connection.sendall(head.encode() + body[:1])
        yield HalfSent(connection, body[1:])


@contextmanager
def _socket(platform: Platform) -> Iterator[ClientConnection]:
    with connect(
        f"ws://{platform.host}:{platform.port}/v1/audio/speech/stream",
        subprotocols=[Subprotocol("tts.v1")],
        additional_headers={"Authorization": f"Bearer {platform.key}"},
        open_timeout=30,
    ) as connection:
        yield connection


@contextmanager
def _socket_speaking(platform: Platform, text: str) -> Iterator[ClientConnection]:
    """A WebSocket on which speech has begun; no audio of it has been read."""
    with _socket(platform) as connection:
        _say(connection, "session.update", model="long")
        _say(connection, "input_text.append", text=text)
        _say(connection, "input_text.end")
        while json.loads(connection.recv(timeout=30))["type"] != "speech.started":
            pass
        yield connection


def _say(connection: ClientConnection, kind: str, **fields: Any) -> None:
    connection.send(json.dumps({"type": kind, **fields}))


def _listen_to_the_end(connection: ClientConnection, heard: Heard, began: float) -> None:
    try:
        while True:
            frame = connection.recv(timeout=30)
            if isinstance(frame, str):
                heard.messages.append(json.loads(frame))
            else:
                heard.audio += len(frame)
    except ConnectionClosed as closed:
        heard.close = closed.rcvd.code if closed.rcvd else 0
        heard.seconds = time.monotonic() - began
