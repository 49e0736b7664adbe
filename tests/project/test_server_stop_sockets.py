"""SIGTERM and sockets whose application does nothing about it."""

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.project.server_process import server_running


def test_a_socket_is_open_until_the_grace_is_over_and_then_told_why() -> None:
    with (
        server_running(grace=1.0) as server,
        connect(server.url.replace("http", "ws"), proxy=None) as client,
    ):
        client.send("one")
        assert client.recv(5) == "one"
        server.terminate()
        client.send("two")
        assert client.recv(5) == "two"
        with pytest.raises(ConnectionClosed) as closed:
            client.recv(10)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1001
        assert server.process.wait(10) == 0
