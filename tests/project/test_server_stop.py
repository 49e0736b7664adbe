"""SIGTERM: nothing new, running streams finish, and the grace has an end."""

import socket
import time
from contextlib import suppress

import httpx
import pytest

from tests.project.server_app import LARGE
from tests.project.server_process import Server, request_bytes, server_running


def ask_until_refused(url: str) -> None:
    while True:
        # What waited to be accepted when the port was closed is reset.
        with suppress(httpx.ReadError, httpx.RemoteProtocolError):
            httpx.get(url)


def until_sent(server: Server) -> None:
    """Wait until the application is done with a response that nobody has read."""
    while not server.stats()["events"]:
        pass


def read_all(client: socket.socket) -> bytes:
    answer = b""
    while piece := client.recv(65_536):
        answer += piece
    return answer


def test_running_stream_finishes() -> None:
    with server_running(grace=10.0) as server, server.connect() as client:
        client.sendall(request_bytes("/slow"))
        answer = client.recv(4_096)
        server.terminate()
        while piece := client.recv(4_096):
            answer += piece
        assert b"begun" in answer
        assert b'"events": ["drain"]' in answer
        assert answer.endswith(b"0\r\n\r\n")
        assert server.process.wait(5) == 0
        with pytest.raises(httpx.ConnectError):
            httpx.get(server.url)


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_finished_response_is_read_to_its_end_by_a_slow_reader(version: str) -> None:
    with (
        # The kernel gives an unread response up by the stall's time, which a busy machine exceeds.
        server_running(stall=30.0, grace=30.0) as server,
        server.connect(receive_buffer=4_096) as client,
    ):
        client.sendall(request_bytes("/large", version=version))
        until_sent(server)
        server.terminate()
        with pytest.raises(httpx.ConnectError):
            ask_until_refused(server.url)
        head, _, body = read_all(client).partition(b"\r\n\r\n")
        assert head.startswith(f"HTTP/{version} 200".encode())
        assert body.count(b"\0") == LARGE
        assert server.process.wait(5) == 0


def test_finished_response_that_is_unread_does_not_outlast_the_grace() -> None:
    with server_running(grace=0.3) as server, server.connect(receive_buffer=4_096) as client:
        client.sendall(request_bytes("/large"))
        until_sent(server)
        server.terminate()
        assert server.process.wait(5) == 0
        assert not read_all(client).endswith(b"0\r\n\r\n")


def test_finished_response_without_chunks_is_reset_when_the_grace_is_over() -> None:
    with server_running(grace=0.3) as server, server.connect(receive_buffer=4_096) as client:
        client.sendall(request_bytes("/large", version="1.0"))
        until_sent(server)
        server.terminate()
        assert server.process.wait(5) == 0
        with pytest.raises(ConnectionResetError):
            read_all(client)


def test_reader_who_leaves_does_not_hold_the_stop_up() -> None:
    with server_running(grace=60.0) as server:
        with server.connect(receive_buffer=4_096) as client:
            client.sendall(request_bytes("/large"))
            until_sent(server)
            server.terminate()
        assert server.process.wait(5) == 0


def test_idle_connection_does_not_hold_the_stop_up() -> None:
    with server_running(grace=60.0) as server, server.connect() as client:
        client.sendall(request_bytes("/"))
        assert client.recv(4_096).startswith(b"HTTP/1.1 200")
        server.terminate()
        assert client.recv(4_096) == b""
        assert server.process.wait(5) == 0


def test_grace_has_an_end() -> None:
    with server_running(grace=0.3) as server, server.connect() as client:
        client.sendall(request_bytes("/hang"))
        assert b"begun" in client.recv(4_096)
        begun = time.monotonic()
        server.terminate()
        assert server.process.wait(5) == 0
        assert time.monotonic() - begun < 4


def test_second_signal_ends_it_at_once() -> None:
    with server_running(grace=60.0) as server, server.connect() as client:
        client.sendall(request_bytes("/hang"))
        assert b"begun" in client.recv(4_096)
        server.terminate()
        # Until the first has been seen: the port is closed then.
        with pytest.raises(httpx.ConnectError):
            ask_until_refused(server.url)
        server.terminate()
        assert server.process.wait(5) == 0


def test_two_processes_share_a_socket_and_one_may_go() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        fd = listening.fileno()
        with server_running(fd=fd) as first, server_running(fd=fd) as second:
            assert first.port == second.port
            seen = {first.stats()["pid"] for _ in range(60)}
            assert seen == {first.process.pid, second.process.pid}
            first.terminate()
            assert first.process.wait(5) == 0
            seen = {second.stats()["pid"] for _ in range(5)}
            assert seen == {second.process.pid}
