"""A whole platform, started as a user starts it."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Platform:
    """A running platform: where it is, the key of its demo tenant, its state folder."""

    host: str
    port: int
    key: str
    var_dir: Path
    environment: dict[str, str]
    supervisor_pid: int

    @property
    def url(self) -> str:
        """The base URL, without a final slash."""
        return f"http://{self.host}:{self.port}"

    def manage(self, *arguments: str, check: bool = True) -> str:
        """Run a management command against this platform; returns its standard output."""
        result = subprocess.run(
            [sys.executable, str(ROOT / "manage.py"), *arguments],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if check and result.returncode != 0:
            raise AssertionError(f"{arguments} failed:\n{result.stdout}\n{result.stderr}")
        return result.stdout

    def processes(self, name: str) -> list[int]:
        """The process ids of the supervisor's children whose command line holds `name`."""
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if parent == self.supervisor_pid and name in command:
                found.append(int(entry.name))
        return found


def free_port() -> int:
    """A TCP port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def platform_running(var_dir: Path, **settings: str) -> Iterator[Platform]:
    """Run `manage.py serve` with `settings` in the environment until the block ends."""
    port = free_port()
    environment = {
        **{name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"},
        "VAR_DIR": str(var_dir),
        "PORT": str(port),
        "LOG_LEVEL": "INFO",
        **settings,
    }
    environment.setdefault("REDIS_URL", "")
    var_dir.mkdir(parents=True, exist_ok=True)
    log_path = var_dir / "serve.log"
    with log_path.open("w") as log:
        process = subprocess.Popen(
            [sys.executable, str(ROOT / "manage.py"), "serve", "--grace", "5"],
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        _wait_until_ready(process, port, log_path)
        credentials = json.loads((var_dir / "credentials.json").read_text())
        yield Platform("127.0.0.1", port, credentials["api_key"], var_dir, environment, process.pid)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=40)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_until_ready(process: subprocess.Popen[bytes], port: int, log_path: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    body = b""
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise AssertionError(f"serve ended:\n{log_path.read_text()[-5000:]}")
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        # An answer may also be cut off: a web process that is just starting.
        with closing(connection), suppress(OSError, http.client.HTTPException):
            connection.request("GET", "/readyz")
            response = connection.getresponse()
            body = response.read()
            if response.status == 200:
                return
        time.sleep(0.2)
    raise AssertionError(f"not ready: {body!r}\n{log_path.read_text()[-5000:]}")
