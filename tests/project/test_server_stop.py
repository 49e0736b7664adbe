"""SIGTERM: nothing new, running streams finish, and the grace has an end."""

import socket
import time

import httpx
import pytest

from tests.project.server_process import request_bytes, server_running


def ask_until_refused(url: str) -> None:
    while True:
        httpx.get(url)


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
