"""Heads that are too long, wrong or of two readings are refused in words, by either server."""

import json
import socket
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from tests.project.server_process import Server, request_bytes, server_running

LIMIT = 16 * 1024


@pytest.fixture(scope="module", params=["daphne", "uvicorn"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with server_running(request.param) as running:
        yield running


def head_of(line: str, *headers: str, host: str = "Host: test\r\n") -> bytes:
    """A request of a line and headers, and nothing behind them."""
    return "\r\n".join([f"{line}\r\n{host}".removesuffix("\r\n"), *headers, "\r\n"]).encode()


def answer_to(server: Server, request: bytes) -> tuple[bytes, bytes]:
    """Head and body of all that is said until the connection ends."""
    with server.connect() as client:
        client.sendall(request)
        answer = said_by(client)
    head, _, body = answer.partition(b"\r\n\r\n")
    return head, body


def said_by(client: socket.socket) -> bytes:
    answer = b""
    # What it did not read may reset the connection behind the answer.
    with suppress(ConnectionResetError):
        while piece := client.recv(65_536):
            answer += piece
    return answer


def refusal_check(answer: tuple[bytes, bytes], status: int, code: str) -> str:
    """The message of a refusal, which has to be the API's envelope."""
    head, body = answer
    assert head.startswith(b"HTTP/1.1 %d " % status)
    assert b"\r\nconnection: close" in head.lower()
    error = json.loads(body)["error"]
    assert error.keys() == {"message", "type", "param", "code"}
    assert (error["type"], error["code"]) == ("invalid_request_error", code)
    return str(error["message"])


def served(server: Server, request: bytes) -> dict[str, Any]:
    """What the application was asked."""
    head, body = answer_to(server, request)
    assert head.startswith(b"HTTP/1.1 200 ")
    _, _, chunk = body.partition(b"\r\n")
    return dict(json.loads(chunk.partition(b"\r\n")[0]))


def test_long_address_within_the_limit_is_served(server: Server) -> None:
    path = "/" + "x" * (LIMIT - 200)
    assert served(server, head_of(f"GET {path} HTTP/1.1", "Connection: close"))["path"] == path


@pytest.mark.parametrize(
    "end", [" HTTP/1.1\r\nHost: test\r\n\r\n", ""], ids=["whole", "without end"]
)
def test_address_that_is_too_long(server: Server, end: str) -> None:
    request = f"GET /{'x' * 20_000}{end}".encode()
    assert f"{LIMIT:,} bytes" in refusal_check(answer_to(server, request), 414, "url_too_long")


@pytest.mark.parametrize(
    "headers",
    [["X: " + "x" * 20_000], ["X: " + "x" * 9_000] * 2, ["X: y"] * 501],
    ids=["one", "together", "many"],
)
def test_headers_that_are_too_large(server: Server, headers: list[str]) -> None:
    answer = answer_to(server, head_of("GET /stats HTTP/1.1", *headers))
    assert f"{LIMIT:,} bytes" in refusal_check(answer, 431, "headers_too_large")


@pytest.mark.parametrize(
    "length", ["-1", "+1", "x", "", "1" * 5_000], ids=["less", "signed", "word", "none", "endless"]
)
def test_length_that_is_none(server: Server, length: str) -> None:
    request = head_of("POST /stats HTTP/1.1", f"Content-Length: {length}")
    refusal_check(answer_to(server, request), 400, "malformed_request")


@pytest.mark.parametrize(
    "headers",
    [("Content-Length: 3", "Content-Length: 4"),
     ("Content-Length: 3", "Transfer-Encoding: chunked"),
     ("Transfer-Encoding: chunked", "Content-Length: 3"),
     ("Transfer-Encoding: identity", "Content-Length: 3"),
     ("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"),
     ("Transfer-Encoding: gzip, chunked",)],
)  # fmt: skip
def test_body_whose_end_may_be_in_two_places(server: Server, headers: tuple[str, ...]) -> None:
    request = head_of("POST /stop HTTP/1.1", *headers, "X: y") + b"0\r\n\r\n"
    refusal_check(answer_to(server, request), 400, "malformed_request")
    assert "stop" not in server.stats()["events"]


@pytest.mark.parametrize("chunks", [b"zz\r\n", b"-3\r\nabc\r\n0\r\n\r\n", b"3\r\nabcde\r\n"])
def test_chunks_that_are_none(server: Server, chunks: bytes) -> None:
    request = head_of("POST /stats HTTP/1.1", "Transfer-Encoding: chunked") + chunks
    refusal_check(answer_to(server, request), 400, "malformed_request")


@pytest.mark.parametrize(
    "line", ["GET /stats HTTP/9.9", "GET /stats HTTP/2.0", "GET /stats", "\x16\x03\x01",
             "G T / HTTP/1.1", "GET * HTTP/1.1", "GET stats HTTP/1.1", "CONNECT test:80 HTTP/1.1",
             "GET ftp://test/stats HTTP/1.1", "GET http:///stats HTTP/1.1",
             "GET http://a@test/stats HTTP/1.1"],
)  # fmt: skip
def test_request_line_that_is_none(server: Server, line: str) -> None:
    refusal_check(answer_to(server, head_of(line)), 400, "malformed_request")


def test_chunked_body_is_not_for_the_old_version(server: Server) -> None:
    request = head_of("POST /stats HTTP/1.0", "Transfer-Encoding: chunked") + b"0\r\n\r\n"
    refusal_check(answer_to(server, request), 400, "malformed_request")


@pytest.mark.parametrize("header", ["X Y: z", "XY", "X: \0"])
def test_header_that_is_none(server: Server, header: str) -> None:
    request = head_of("GET /stats HTTP/1.1", header, "Authorization: secret")
    assert "secret" not in refusal_check(answer_to(server, request), 400, "malformed_request")


@pytest.mark.parametrize("host", ["", "Host: one\r\nHost: two\r\n"])
def test_host_is_needed_once(server: Server, host: str) -> None:
    request = head_of("GET /stats HTTP/1.1", host=host)
    assert "Host" in refusal_check(answer_to(server, request), 400, "malformed_request")


def test_host_is_not_needed_in_the_old_version(server: Server) -> None:
    head, _ = answer_to(server, head_of("GET /stats HTTP/1.0", host=""))
    assert b" 200 " in head.splitlines()[0]


@pytest.mark.parametrize(
    ("address", "path"),
    [("http://other:80/stats", "/stats"), ("HTTP://other:80", "/"), ("https://other:80?x=y", "/")],
)
def test_absolute_address_is_its_path_and_host(server: Server, address: str, path: str) -> None:
    asked = served(server, head_of(f"GET {address} HTTP/1.1", "Connection: close"))
    assert (asked["path"], asked["host"]) == (path, "other:80")


def test_options_of_the_server_itself(server: Server) -> None:
    head, body = answer_to(server, head_of("OPTIONS * HTTP/1.1"))
    assert head.startswith(b"HTTP/1.1 204 ")
    assert not body


def test_wrong_request_behind_another_is_refused_after_its_answer(server: Server) -> None:
    with server.connect() as client:
        client.sendall(request_bytes("/slow") + head_of("GET /stats HTTP/9.9"))
        answer = said_by(client)
    assert answer.startswith(b"HTTP/1.1 200 ")
    _, _, second = answer.partition(b"0\r\n\r\n")
    head, _, body = second.partition(b"\r\n\r\n")
    refusal_check((head, body), 400, "malformed_request")
