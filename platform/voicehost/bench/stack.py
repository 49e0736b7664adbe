"""A whole platform of one's own, started as a user starts it, in a folder of its own."""

import http
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from voicehost.bench.errors import PlatformFailed
from voicehost.env import ROOT
from voicehost.readiness import readiness_ask
from voicehost.state import state_folder_make

START_SECONDS = 120.0
STOP_SECONDS = 40.0
STACK_GRACE_SECONDS = 2
MANAGE = str(ROOT / "manage.py")
_HOST = "127.0.0.1"
_LOG_SHOWN = 4000


@dataclass(frozen=True, slots=True)
class Stack:
    """A running platform; `environment` is what its processes were started with."""

    port: int
    key: str
    environment: Mapping[str, str]
    supervisor: int
    metrics_port: int
    """Where the web process serves its metrics."""

    @property
    def url(self) -> str:
        """The base URL, without a final slash."""
        return f"http://{_HOST}:{self.port}"


def free_port() -> int:
    """A TCP port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        return int(probe.getsockname()[1])


@contextmanager
def stack_running(
    var_dir: Path, *, start_seconds: float = START_SECONDS, **settings: str
) -> Iterator[Stack]:
    """Run `manage.py serve` with `settings` in its environment until the block ends.

    State, database and Redis are its own, whatever this process's environment
    says. Raises PlatformFailed with the end of its log when it does not get ready.
    """
    port, metrics_port = free_port(), free_port()
    # One worker serves metrics on METRICS_PORT, the web process on the next (`Plan`).
    environment = {
        **os.environ,
        "VAR_DIR": str(var_dir),
        "HOST": _HOST,
        "PORT": str(port),
        "SYNTHESIS_WORKERS": "1",
        "WEB_PROCESSES": "1",
        "METRICS_PORT": str(metrics_port),
        "GRACE_SECONDS": str(STACK_GRACE_SECONDS),
        "DATABASE_URL": "",
        "REDIS_URL": "",
        **settings,
    }
    with serve_running(var_dir, environment, start_seconds=start_seconds) as supervisor:
        yield Stack(
            port, credentials_of(var_dir)["api_key"], environment, supervisor, metrics_port + 1
        )


@contextmanager
def serve_running(
    var_dir: Path,
    environment: Mapping[str, str],
    *,
    start_seconds: float = START_SECONDS,
) -> Iterator[int]:
    """Run `manage.py serve` until the block ends; yields its process id once it can speak.

    Raises PlatformFailed with the end of its log (`serve.log` in `var_dir`).
    """
    state_folder_make(var_dir)
    log = var_dir / "serve.log"
    with log.open("w") as output:
        process = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, MANAGE, "serve"],
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        _wait_until_ready(process, int(environment["PORT"]), log, start_seconds)
        yield process.pid
    finally:
        _stop(process)


def credentials_of(var_dir: Path) -> dict[str, str]:
    """What the first start in this state folder made."""
    found: dict[str, str] = json.loads((var_dir / "credentials.json").read_text())
    return found


def _stop(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=STOP_SECONDS)
        except subprocess.TimeoutExpired:
            # Its children die with it: the supervisor has asked the kernel for that.
            process.kill()
            process.wait()


def _wait_until_ready(
    process: "subprocess.Popen[bytes]", port: int, log: Path, seconds: float
) -> None:
    deadline = time.monotonic() + seconds
    answer = ""
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise PlatformFailed(f"serve ended:\n{log.read_text()[-_LOG_SHOWN:]}")
        status, answer = readiness_ask(_HOST, port)
        if status == http.HTTPStatus.OK:
            return
        time.sleep(0.2)
    raise PlatformFailed(f"not ready: {answer}\n{log.read_text()[-_LOG_SHOWN:]}")
