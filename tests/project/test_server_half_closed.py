"""A client that ended its half gets its answer; one that is gone is noticed all the same."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from http.client import HTTPResponse

import pytest

from tests.project.server_process import Server, request_bytes, server_running

SOON = 1.0
"""Seconds: more than a look for resets takes on a busy machine, less than any other limit."""


UPGRADE = (
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
)


@pytest.fixture(scope="module", params=["daphne", "uvicorn"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    # No stall ends anything here.
    with server_running(request.param, stall=60.0) as running:
        yield running


def asked(server: Server, request: bytes) -> socket.socket:
    """A connection whose client has said all that it has to say."""
    client = server.connect()
    client.sendall(request)
    client.shutdown(socket.SHUT_WR)
    return client


def answer_of(client: socket.socket) -> bytes:
    """The body of a response, read as programs read it, up to the connection's end."""
    with client, HTTPResponse(client) as response:
        response.begin()
        assert response.status == 200
        body = response.read()
        assert client.recv(1) == b""
    return body


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SOON
    while not condition():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.02)


def gone(server: Server) -> int:
    return int(server.stats()["events"].count("gone"))


@pytest.mark.parametrize("version", ["1.1", "1.0"])
def test_answer_comes(server: Server, version: str) -> None:
    request = request_bytes("/stats", body=b"x" * 100_000, version=version)
    assert json.loads(answer_of(asked(server, request)))["length"] == 100_000


def test_answer_that_takes_its_time_comes(server: Server) -> None:
    assert answer_of(asked(server, request_bytes("/slow"))).startswith(b"begun {")


def test_answer_that_has_begun_goes_on(server: Server) -> None:
    with server.connect() as client:
        client.sendall(request_bytes("/slow"))
        beginning = b""
        while b"begun" not in beginning:
            beginning += client.recv(1_000)
        client.shutdown(socket.SHUT_WR)
        rest = b""
        while piece := client.recv(1_000):
            rest += piece
    # A digit that means nothing, and the length of the next chunk.
    length, _, chunk = rest.removeprefix(b"\r\n").partition(b"\r\n")
    assert length.startswith(b"0")
    assert json.loads(chunk[: int(length, 16)])["path"] == "/slow"
    assert chunk.endswith(b"\r\n0\r\n\r\n")


def test_every_request_is_answered(server: Server) -> None:
    with asked(server, request_bytes("/slow") + request_bytes("/stats")) as client:
        answer = b""
        while piece := client.recv(65_536):
            answer += piece
    assert answer.count(b"HTTP/1.1 200 ") == 2
    assert answer.endswith(b"\r\n0\r\n\r\n")


def test_socket_behind_a_request_ends_the_connection(server: Server) -> None:
    upgrade = request_bytes("/ws", headers=UPGRADE)
    with asked(server, request_bytes("/slow") + upgrade) as client:
        answer = b""
        while piece := client.recv(65_536):
            answer += piece
    assert answer.endswith(b"\r\n0\r\n\r\n")
    assert b"HTTP/1.1 101 " not in answer


def test_half_a_request_ends_the_connection(server: Server) -> None:
    with asked(server, request_bytes("/stats", body=b"x" * 10)[:-1]) as client:
        client.settimeout(SOON)
        assert b" 200 " not in client.recv(1_000)


@pytest.mark.parametrize("path", ["/await", "/begun"])
def test_client_that_closed_is_gone(server: Server, path: str) -> None:
    before = gone(server)
    client = server.connect()
    client.sendall(request_bytes(path))
    if path == "/begun":
        assert client.recv(1_000)
    client.close()
    wait_for(lambda: gone(server) > before)


def test_client_of_the_old_version_that_closed_before_its_answer_is_gone(server: Server) -> None:
    before = gone(server)
    client = server.connect()
    client.sendall(request_bytes("/await", version="1.0"))
    client.close()
    wait_for(lambda: gone(server) > before)


def test_stream_of_a_client_that_closes_after_its_half_is_ended(server: Server) -> None:
    ended = server.stats()["events"].count("flood ended")
    with asked(server, request_bytes("/flood")) as client:
        for _ in range(100):
            assert client.recv(10_000)
    wait_for(lambda: server.stats()["events"].count("flood ended") > ended)
