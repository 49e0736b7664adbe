"""A request that is dripped into the server does not hold its connection for long."""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from tests.project.server_app import REQUEST_SECONDS
from tests.project.server_process import Server, request_bytes, server_running

SLACK = 3.0
LENGTH = b"Content-Length: 1000"
HEAD = b"POST /stats HTTP/1.1\r\nHost: test\r\n" + LENGTH + b"\r\n"


@pytest.fixture(scope="module", params=["daphne", "uvicorn"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with server_running(request.param) as running:
        yield running


def dripped(client: socket.socket, drip: bytes) -> tuple[float, bytes]:
    """Send a drip now and then until the server ends it: after how long, and what it said."""
    begun, said = time.monotonic(), b""
    client.settimeout(0.1)
    while time.monotonic() - begun < REQUEST_SECONDS + SLACK:
        with suppress(OSError):
            client.send(drip)
        try:
            piece = client.recv(4_096)
        except TimeoutError:
            continue
        except ConnectionResetError:
            break
        if not piece:
            break
        said += piece
    return time.monotonic() - begun, said


@pytest.mark.parametrize(
    ("beginning", "drip"),
    [(HEAD, b"X: y\r\n"), (HEAD + b"\r\n", b" "),
     (HEAD.replace(LENGTH, b"Transfer-Encoding: chunked") + b"\r\n", b"1\r\n \r\n")],
    ids=["headers", "body", "chunks"],
)  # fmt: skip
def test_dripped_request_is_ended(server: Server, beginning: bytes, drip: bytes) -> None:
    with server.connect() as client:
        client.sendall(beginning)
        taken, said = dripped(client, drip)
    assert REQUEST_SECONDS - 0.5 <= taken < REQUEST_SECONDS + SLACK
    head, _, body = said.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 408 ")
    assert json.loads(body)["error"]["code"] == "request_timeout"


def test_slow_request_behind_another_is_ended(server: Server) -> None:
    with server.connect() as client:
        # Its beginning was read, though not looked at, while the first was answered.
        client.sendall(request_bytes("/slow") + HEAD + b"\r\n")
        _, said = dripped(client, b" ")
        while b" 408 " not in said and (piece := client.recv(4_096)):
            said += piece
    assert said.startswith(b"HTTP/1.1 200 ")
    assert b"HTTP/1.1 408 " in said


def test_long_response_is_not_a_slow_request(server: Server) -> None:
    with server.connect() as client:
        # More than one request's bytes: the rest waits, and its time does not run.
        client.sendall(request_bytes("/hang") + HEAD)
        assert client.recv(1_000).startswith(b"HTTP/1.1 200")
        deadline = time.monotonic() + REQUEST_SECONDS + 1
        while time.monotonic() < deadline:
            with suppress(TimeoutError):
                client.settimeout(0.1)
                assert client.recv(1_000)


def test_kept_connection_gets_new_time_for_each_request(server: Server) -> None:
    with server.connect() as client:
        deadline = time.monotonic() + REQUEST_SECONDS + 1
        while time.monotonic() < deadline:
            whole = request_bytes("/stats", body=b"x" * 10)
            client.sendall(whole[:20])
            time.sleep(0.2)
            client.sendall(whole[20:])
            client.settimeout(5)
            answer = b""
            while not answer.endswith(b"0\r\n\r\n"):
                piece = client.recv(65_536)
                assert piece
                answer += piece
            assert answer.startswith(b"HTTP/1.1 200")
