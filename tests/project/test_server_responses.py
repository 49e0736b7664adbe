"""Responses end cleanly or visibly break; nothing hangs."""

import socket
from collections.abc import Iterator

import httpx
import pytest
import websockets.exceptions
import websockets.sync.client

from tests.project.server_process import Server, request_bytes, server_running


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with server_running() as running:
        yield running


def read_all(client: socket.socket) -> bytes:
    answer = b""
    while piece := client.recv(4_096):
        answer += piece
    return answer


def test_connection_is_kept_alive(server: Server) -> None:
    with httpx.Client(base_url=server.url) as client:
        assert client.post("/", content=b"12345").json()["length"] == 5
        assert client.get("/").json()["length"] == 0


@pytest.mark.parametrize("path", ["/break", "/raise"])
def test_incomplete_response_breaks_at_once(server: Server, path: str) -> None:
    with (
        httpx.Client(base_url=server.url, timeout=0.9) as client,
        pytest.raises(httpx.RemoteProtocolError, match="incomplete chunked read"),
    ):
        client.get(path)


def test_incomplete_response_without_chunks_is_reset(server: Server) -> None:
    with server.connect() as client:
        client.sendall(request_bytes("/break", version="1.0"))
        with pytest.raises(ConnectionResetError):
            read_all(client)


def test_application_that_answers_nothing_is_an_error(server: Server) -> None:
    assert httpx.get(f"{server.url}/silent", timeout=0.9).status_code == 500


@pytest.mark.parametrize("code", [1000, 1008, 1009, 1011, 1013, 4401])
def test_websocket_close_codes(server: Server, code: int) -> None:
    with websockets.sync.client.connect(f"ws://{server.host}:{server.port}/ws") as client:
        client.send(f"close{code}")
        with pytest.raises(websockets.exceptions.ConnectionClosed) as caught:
            client.recv(timeout=5)
    assert caught.value.rcvd is not None
    assert (caught.value.rcvd.code, caught.value.rcvd.reason) == (code, "so")


@pytest.mark.parametrize(("text", "code"), [("return", 1000), ("raise", 1011)])
def test_socket_does_not_outlive_its_consumer(server: Server, text: str, code: int) -> None:
    with websockets.sync.client.connect(f"ws://{server.host}:{server.port}/ws") as client:
        client.send(text)
        with pytest.raises(websockets.exceptions.ConnectionClosed) as caught:
            client.recv(timeout=0.9)
    assert caught.value.rcvd is not None
    assert caught.value.rcvd.code == code


def test_message_that_is_too_long_closes_the_socket(server: Server) -> None:
    with websockets.sync.client.connect(f"ws://{server.host}:{server.port}/ws") as client:
        client.send("x" * (2**20 + 1))
        with pytest.raises(websockets.exceptions.ConnectionClosed) as caught:
            client.recv(timeout=5)
    assert caught.value.rcvd is not None
    assert caught.value.rcvd.code == 1009


def test_a_socket_may_be_refused_by_a_whole_http_response(server: Server) -> None:
    with (
        pytest.raises(websockets.exceptions.InvalidStatus) as caught,
        websockets.sync.client.connect(f"ws://{server.host}:{server.port}/denied"),
    ):
        pytest.fail("accepted")
    response = caught.value.response
    assert (response.status_code, response.reason_phrase) == (404, "Not Found")
    assert (response.headers["x-why"], response.body) == ("so", b"no such address")
    # The server does not stay with a connection that is over.
    assert httpx.get(server.url, timeout=0.9).status_code == 200
