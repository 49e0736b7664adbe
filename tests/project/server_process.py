"""Starts `tests.project.server_app` and talks to it."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import urlopen

ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass
class Server:
    """A running server process."""

    process: "subprocess.Popen[str]"
    host: str
    port: int

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    def connect(self, *, receive_buffer: int = 0) -> socket.socket:
        """A raw connection; `receive_buffer` keeps the client's kernel from reading ahead."""
        client = socket.socket()
        if receive_buffer:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        client.settimeout(10)
        client.connect((self.host, self.port))
        return client

    def stats(self) -> dict[str, Any]:
        """What the applications have to say."""
        with urlopen(f"{self.url}/stats", timeout=10) as response:
            return dict(json.load(response))

    def terminate(self) -> None:
        self.process.send_signal(signal.SIGTERM)


def request_bytes(
    path: str, *, body: bytes = b"", version: str = "1.1", headers: str = ""
) -> bytes:
    """An HTTP request as it goes over the wire."""
    method = "POST" if body else "GET"
    head = f"{method} {path} HTTP/{version}\r\nHost: test\r\n{headers}"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


@contextmanager
def server_running(
    *extra: str, stall: float = 1.0, grace: float = 5.0, fd: int = -1
) -> Iterator[Server]:
    """Run a server until the block ends."""
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "tests.project.server_app",
            str(stall),
            str(grace),
            str(fd),
            *extra,
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'platform'}"},
        pass_fds=(fd,) if fd >= 0 else (),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        # Log lines go to standard error; the first line here is the address.
        address = urlsplit(process.stdout.readline().strip())
        yield Server(process, str(address.hostname), int(address.port or 0))
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
