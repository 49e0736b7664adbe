"""A PostgreSQL server of a test's own, which it may stop and start again."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from tests.requirement import missing
from voicehost.bench.stack import free_port

START_SECONDS = 30.0
ROOT_ID = 0
USERS = ("postgres", "nobody")
"""Who runs it where the tests are root's, whom PostgreSQL refuses."""


@dataclass
class PostgresServer:
    """A server with one empty database."""

    programs: Path
    data: Path
    port: int
    user: str | None
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def url(self) -> str:
        """Its database."""
        return f"postgres://voicehost@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        """Start it and wait until it answers."""
        options = {
            "port": str(self.port),
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "fsync": "off",
        }
        settings = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
        self.process = subprocess.Popen(
            [self.programs / "postgres", "-D", self.data, *settings],
            user=self.user,
            cwd=self.data,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            assert time.monotonic() < deadline, "PostgreSQL did not start"
            time.sleep(0.02)

    def stop(self) -> None:
        """Stop it at once, whoever is connected; what was committed stays."""
        if self.process is not None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(START_SECONDS)
            self.process = None

    def refuse(self) -> None:
        """Let nobody in any more, and end every connection that there is."""
        self._allow(False)
        self.connections_end()

    def admit(self) -> None:
        """Let everybody in again."""
        self._allow(True)

    def connections_end(self) -> int:
        """End every connection to the database, as an administrator may; returns how many."""
        with self._beside() as connection:
            ended = connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'postgres'"
            )
            return len(ended.fetchall())

    def _allow(self, allowed: bool) -> None:
        # A limit of connections would not hold for a superuser, which the platform is here.
        with self._beside() as connection:
            word = "true" if allowed else "false"
            connection.execute(f"ALTER DATABASE postgres ALLOW_CONNECTIONS {word}")

    def _beside(self) -> "psycopg.Connection[tuple[object, ...]]":
        """A connection to another database of the server."""
        url = f"{self.url.rpartition('/')[0]}/template1"
        return psycopg.connect(url, autocommit=True, connect_timeout=5)

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.url, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True


@contextmanager
def postgres_running() -> Iterator[PostgresServer]:
    """Run a server until the block ends."""
    programs, user = _programs(), _user()
    with tempfile.TemporaryDirectory(prefix="vh-") as folder:
        if user is not None:
            shutil.chown(folder, user)
        data = Path(folder) / "data"
        options = ["-U", "voicehost", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        subprocess.run(
            [programs / "initdb", "-D", data, *options],
            user=user,
            cwd=folder,
            stdout=subprocess.DEVNULL,
            check=True,
        )
        server = PostgresServer(programs, data, free_port(), user)
        server.start()
        try:
            yield server
        finally:
            server.stop()


def _programs() -> Path:
    """Where `initdb` and `postgres` are: on PATH, or where Debian puts them."""
    on_path = shutil.which("initdb")
    if on_path:
        return Path(on_path).resolve().parent
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        missing("PostgreSQL's initdb")
    return found[-1].parent


def _user() -> str | None:
    """Whom to run it as; None: as whoever runs the tests."""
    if os.geteuid() != ROOT_ID:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    found = next((name for name in USERS if name in known), None)
    return found or missing("a user who is not root, for PostgreSQL")
