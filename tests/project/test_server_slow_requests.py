"""A request that is dripped into the server does not hold its connection for long."""

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


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with server_running() as running:
        yield running


def is_open(client: socket.socket) -> bool:
    """Whether the server still holds the connection; nothing is to be read from it."""
    client.settimeout(0.1)
    try:
        return client.recv(1) != b""
    except TimeoutError:
        return True
    except ConnectionResetError:
        return False


def seconds_until_closed(client: socket.socket, drip: bytes) -> float:
    begun = time.monotonic()
    while time.monotonic() - begun < REQUEST_SECONDS + SLACK:
        with suppress(OSError):
            client.send(drip)
        if not is_open(client):
            break
    return time.monotonic() - begun


@pytest.mark.parametrize(
    ("beginning", "drip"),
    [(HEAD, b"X: y\r\n"), (HEAD + b"\r\n", b" "),
     (HEAD.replace(LENGTH, b"Transfer-Encoding: chunked") + b"\r\n", b"1\r\n \r\n")],
    ids=["headers", "body", "chunks"],
)  # fmt: skip
def test_dripped_request_is_ended(server: Server, beginning: bytes, drip: bytes) -> None:
    with server.connect() as client:
        client.sendall(beginning)
        taken = seconds_until_closed(client, drip)
    assert REQUEST_SECONDS - 0.5 <= taken < REQUEST_SECONDS + SLACK


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
            assert client.recv(65_536).startswith(b"HTTP/1.1 200")
