"""A whole platform, started as a user starts it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from voicehost.bench.stack import credentials_of, free_port, serve_running

ROOT = Path(__file__).resolve().parents[2]
HOST = "127.0.0.1"


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


@contextmanager
def platform_running(var_dir: Path, **settings: str) -> Iterator[Platform]:
    """Run `manage.py serve` with `settings` in the environment until the block ends."""
    port = free_port()
    environment = {
        **{name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"},
        "VAR_DIR": str(var_dir),
        "PORT": str(port),
        "LOG_LEVEL": "INFO",
        "GRACE_SECONDS": "5",
        **settings,
    }
    environment.setdefault("REDIS_URL", "")
    with serve_running(var_dir, environment) as supervisor:
        key = credentials_of(var_dir)["api_key"]
        yield Platform(HOST, port, key, var_dir, environment, supervisor)
