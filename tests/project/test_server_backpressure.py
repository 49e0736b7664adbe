"""A client that does not read costs the server little, stops the worker, and is given up."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from urllib.request import urlopen

import pytest
import websockets.sync.client

from tests.project.server_app import LARGE
from tests.project.server_process import Server, request_bytes, server_running
from tests.tts.speech.speech_fakes import RATE, SECRET

STALL = 1.0
FLOOD = 300
"""Messages of 10 kB: more than the server lets wait, and more than the kernels' buffers hold."""
SPEECH = json.dumps(
    {"input": "One.", "model": "tone", "voice": "both", "response_format": "pcm"}
).encode()
HEADERS = f"Authorization: Bearer {SECRET}\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module", params=["daphne", "uvicorn"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with server_running("speech", request.param, stall=STALL) as running:
        yield running


def wait_for(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.02)


def drain(client: socket.socket) -> bytes:
    answer = b""
    while piece := client.recv(65_536):
        answer += piece
    return answer


def upgrade_bytes(path: str = "/ws") -> bytes:
    return (
        f"GET {path} HTTP/1.1\r\nHost: test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    ).encode()


def upgrade(client: socket.socket) -> None:
    client.sendall(upgrade_bytes())
    assert client.recv(4_096).startswith(b"HTTP/1.1 101")


def text_frame(text: bytes) -> bytes:
    """A masked frame with a mask of zeros (RFC 6455, 5.2)."""
    long = len(text) > 125
    length = b"\xfe" + len(text).to_bytes(2, "big") if long else bytes([0x80 | len(text)])
    return b"\x81" + length + bytes(4) + text


def test_http_sender_waits_and_is_given_up(server: Server) -> None:
    ended = server.stats()["events"].count("flood ended")
    before = server.stats()["rss"]
    with server.connect(receive_buffer=4_096) as client:
        client.sendall(request_bytes("/flood"))
        wait_for(lambda: server.stats()["events"].count("flood ended") > ended)
        stats = server.stats()
        # What the two kernels and Twisted's 64 KiB hold, of a stream without end.
        assert stats["sent"] < 3_000_000
        assert stats["rss"] - before < 20_000_000
        with pytest.raises(ConnectionResetError):
            drain(client)


def test_http_sender_goes_on_when_the_client_reads(server: Server) -> None:
    with server.connect(receive_buffer=4_096) as client:
        client.sendall(request_bytes("/flood"))
        got = 0
        while got < 10_000_000:
            got += len(client.recv(1_000_000))
        assert server.stats()["sent"] >= 9_000_000


def test_http_sender_of_a_whole_answer_does_not_wait_for_a_slow_client(server: Server) -> None:
    with server.connect(receive_buffer=4_096) as client:
        client.sendall(request_bytes("/large"))
        # The last message needs no room: what is written is in the server's hands.
        wait_for(lambda: "large was sent" in server.stats()["events"], STALL / 2)
        time.sleep(STALL * 1.5)
        got = 0
        while got < LARGE:
            piece = client.recv(1_000_000)
            assert piece
            got += len(piece)


def test_websocket_sender_waits_and_is_given_up(server: Server) -> None:
    ended = server.stats()["events"].count("flood ended")
    before = server.stats()["rss"]
    with server.connect(receive_buffer=4_096) as client:
        upgrade(client)
        client.sendall(text_frame(b"flood"))
        wait_for(lambda: server.stats()["events"].count("flood ended") > ended)
        stats = server.stats()
        assert stats["sent"] < 3_000_000
        assert stats["rss"] - before < 20_000_000


def test_speech_stops_at_its_credit_and_is_given_up(server: Server) -> None:
    with server.connect(receive_buffer=4_096) as client:
        client.sendall(request_bytes("/v1/audio/speech", body=SPEECH, headers=HEADERS))
        wait_for(lambda: bool(server.stats()["samples"]))
        wait_for(lambda: "stream_stalled" in server.stats()["outcomes"])
        stats = server.stats()
        # 30 s of credit beyond what the transport took.
        assert stats["samples"][-1] < 100 * RATE
        assert stats["closed"][-1]


def test_flood_of_messages_stops_being_read(server: Server) -> None:
    with websockets.sync.client.connect(f"ws://{server.host}:{server.port}/ws") as client:
        client.send("hold")
        before = server.stats()["rss"]
        for _ in range(6_000):
            client.send("quiet" + "x" * 10_000)
            assert server.process.poll() is None
        assert client.recv() == "hold"
        client.send("count")
        assert client.recv() == "6000"
        # Of 60 MB; uvicorn reads up to 256 KiB at once, and what passed leaves holes in the heap.
        assert server.stats()["rss"] - before < 40_000_000


def test_flood_of_messages_does_not_swallow_the_close_code(server: Server) -> None:
    """A client busy with sending must not meet a reset before it comes to read why."""
    with server.connect() as client:
        upgrade(client)
        client.sendall(text_frame(b"hold") + text_frame(b"close1008"))
        for turn in range(FLOOD):
            client.sendall(text_frame(b"quiet" + b"x" * 10_000))
            if turn % (FLOOD // 4) == 0:
                # In all, longer than WebSocket servers usually wait for a client's close frame.
                time.sleep(0.7)
        assert client.recv(4_096) == b"\x81\x04hold\x88\x04\x03\xf0so"


def test_http_sender_behind_an_answer_that_is_hardly_read_is_given_up(server: Server) -> None:
    ended = server.stats()["events"].count("flood ended")
    with server.connect(receive_buffer=4_096) as client:
        client.sendall(request_bytes("/large") + request_bytes("/flood"))

        def given_up() -> bool:
            # Now and then a little: the kernel, which gives up by itself, sees somebody there.
            with suppress(ConnectionResetError):
                client.recv(4_096)
            return bool(server.stats()["events"].count("flood ended") > ended)

        wait_for(given_up)


def test_websocket_sender_behind_an_answer_that_is_not_read_is_given_up(server: Server) -> None:
    before = server.stats()["rss"]
    with server.connect(receive_buffer=4_096) as client:
        client.sendall(request_bytes("/large") + upgrade_bytes("/flood"))
        time.sleep(STALL * 1.5)
        # The answer, and no more of the flood than a buffer holds.
        assert server.stats()["rss"] - before < 4 * LARGE
        with pytest.raises(ConnectionResetError):
            drain(client)


def test_http_sender_that_never_looks_lets_others_be_served(server: Server) -> None:
    with server.connect(receive_buffer=4_096) as client:
        client.sendall(request_bytes("/blind"))
        assert client.recv(4_096)
    with urlopen(f"{server.url}/stop", timeout=10):
        wait_for(lambda: "blind ended" in server.stats()["events"])
