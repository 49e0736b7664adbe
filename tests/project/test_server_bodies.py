"""A body that is too long is refused before an application has it, by either server."""

import json
import socket
from collections.abc import Iterator
from contextlib import suppress

import pytest

from tests.project.server_app import MAX_BODY
from tests.project.server_process import Server, request_bytes, server_running

HEAD = b"POST /stats HTTP/1.1\r\nHost: test\r\n"
CHUNK = b"186a0\r\n" + b"x" * 100_000 + b"\r\n"


@pytest.fixture(scope="module", params=["daphne", "uvicorn"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with server_running(request.param) as running:
        yield running


def answer_of(client: socket.socket) -> bytes:
    """All that it says until it ends the connection, if by a reset."""
    answer = b""
    with suppress(ConnectionResetError):
        while piece := client.recv(4_096):
            answer += piece
    return answer


def send_without_end(client: socket.socket) -> None:
    while True:
        client.sendall(CHUNK)


def refusal_check(answer: bytes) -> None:
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 413 ")
    error = json.loads(body)["error"]
    assert (error["type"], error["code"]) == ("invalid_request_error", "body_too_large")
    assert f"{MAX_BODY:,} bytes" in error["message"]


def test_body_as_long_as_allowed_is_taken(server: Server) -> None:
    with server.connect() as client:
        headers = "Connection: close\r\n"
        client.sendall(request_bytes("/stats", body=b"x" * MAX_BODY, headers=headers))
        answer = answer_of(client)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert f'"length": {MAX_BODY}'.encode() in answer


@pytest.mark.parametrize(
    "media",
    ["multipart/form-data", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded"],
)
def test_forms_are_the_applications_to_read(server: Server, media: str) -> None:
    """A server that reads them itself is stopped by a large one, and answers for broken ones."""
    with server.connect() as client:
        headers = f"Connection: close\r\nContent-Type: {media}\r\n"
        client.sendall(request_bytes("/stats", body=b"a=1&" * 1_000, headers=headers))
        answer = answer_of(client)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b'"length": 4000' in answer


def test_announced_body_that_is_too_long_is_refused_unread(server: Server) -> None:
    with server.connect() as client:
        client.sendall(HEAD + b"Content-Length: 99999999\r\n\r\n")
        refusal_check(answer_of(client))


def test_second_request_of_a_connection_is_refused_as_the_first(server: Server) -> None:
    with server.connect() as client:
        client.sendall(request_bytes("/stats") + HEAD + b"Content-Length: 99999999\r\n\r\n")
        answer = answer_of(client)
    assert answer.startswith(b"HTTP/1.1 200 ")
    refusal_check(answer[answer.index(b"HTTP/1.1 413 ") :])


def test_chunked_body_that_is_too_long_is_refused(server: Server) -> None:
    with server.connect() as client:
        client.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        for _ in range(MAX_BODY // 100_000 + 1):
            client.sendall(CHUNK)
        refusal_check(answer_of(client))


def test_body_without_end_costs_little(server: Server) -> None:
    before = server.stats()["rss"]
    with server.connect() as client:
        client.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        with pytest.raises(ConnectionError):
            send_without_end(client)
    assert server.stats()["rss"] - before < 20_000_000
