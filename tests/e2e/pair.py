"""A platform of two synthesis workers and two web processes, and what tests do to it.

Its routes speak in tones: `tone` and `other` at once, `few` too, but two at a time
in each worker, `late` only after a second of computing, `long` half a second for
every character, five times faster than one listens. A key's limits are out of the way.
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import redis

from tests.e2e.console import Console
from tests.e2e.platform import Platform, platform_running
from tests.e2e.without_voices import python_path_without_voices
from tts.gateway.census import workers_read_sync
from tts.gateway.heartbeat import WorkerBeat

T = TypeVar("T")

LATE_SECONDS = 1.0
LONG_CHARACTER_SECONDS = 0.5
FEW = 2
VERSIONS: dict[str, dict[str, float]] = {
    "other": {},
    "few": {},
    "late": {"step_seconds": 2.0, "cost_ms": LATE_SECONDS * 1000},
    "long": {
        "step_seconds": 0.5,
        "cost_ms": 100.0,
        "character_seconds": LONG_CHARACTER_SECONDS,
    },
}
KEYS = {"tone@1", *(f"tone@{name}" for name in VERSIONS)}
FURNISH = """
from models_registry.batching import Batching
from models_registry.services import route_create, route_set, version_batching_set
from tenants.services import api_key_issue, tenant_create, tier_create
from tts.services import tone_import
for name, config in versions.items():
    key = tone_import(name, config).key
    route_create(name=name)
    route_set(name, {key: 100}, "test")
version_batching_set("tone@few", Batching(few, few, 0))
wide = {"concurrency": 1000, "requests_per_minute": 10**6, "characters_per_minute": 5 * 10**7}
tier = tier_create(name="wide", rank=90, priority="realtime", profile="realtime",
                   max_characters=100_000, max_queue_seconds=30.0, **wide)
_, result = api_key_issue(tenant=tenant_create(name="Wide", **wide), tier=tier)
"""


def until(condition: Callable[[], T | None], *, seconds: float = 30.0, every: float = 0.02) -> T:
    """The first true value of `condition()`; fails when there is none in time."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(every)
    return value


@dataclass(frozen=True, slots=True)
class Pair:
    """The running platform; `key` may do everything, `console` is its operator."""

    platform: Platform
    console: Console
    redis: redis.Redis
    key: str

    @property
    def headers(self) -> dict[str, str]:
        """What every request needs."""
        return {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}

    def beats(self) -> tuple[WorkerBeat, ...]:
        """What the live workers last said."""
        return workers_read_sync(self.redis)

    def is_whole(self) -> bool:
        """Whether both workers can speak everything and do nothing, and both web processes run."""
        beats = self.beats()
        return (
            len(beats) == 2
            and all(set(beat.versions) >= KEYS for beat in beats)
            and not any(beat.active or beat.waiting or beat.draining for beat in beats)
            and len(self.web_processes()) == 2
            and all(Path(f"/proc/{beat.pid}").exists() for beat in beats)
        )

    def is_idle(self) -> bool:
        """Whether no worker holds any request, and all slots are free."""
        beats = self.beats()
        return len(beats) == 2 and all(
            beat.active == 0 and beat.waiting == 0 and beat.free_slots == beat.slots
            for beat in beats
        )

    def busy(self) -> WorkerBeat | None:
        """A worker that has a request."""
        return next((beat for beat in self.beats() if beat.active or beat.waiting), None)

    def web_processes(self) -> list[int]:
        """The process ids of the web processes."""
        return self.platform.processes("run_web")

    def log(self) -> str:
        """Everything that the platform's processes have written."""
        return (self.platform.var_dir / "serve.log").read_text()

    def web_process_of(self, local_port: int) -> int | None:
        """Which web process holds the connection that a client made from `local_port`."""
        inode = _socket_inode(self.platform.port, local_port)
        if inode is None:
            return None
        return next((pid for pid in self.web_processes() if _holds(pid, inode)), None)


@contextmanager
def pair_running(folder: Path, **settings: str) -> Iterator[Pair]:
    """Start it and wait until all of it is there."""
    settings = {
        "WEB_PROCESSES": "2",
        "SYNTHESIS_WORKERS": "2",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": python_path_without_voices(folder / "python"),
        **settings,
    }
    with platform_running(folder / "var", **settings) as platform:
        url = settings.get("REDIS_URL") or (platform.var_dir / "run" / "redis.url").read_text()
        with Console(platform) as console, redis.Redis.from_url(url) as client:
            key = console.run(FURNISH, versions=VERSIONS, few=FEW).result
            pair = Pair(platform, console, client, key)
            until(pair.is_whole, seconds=60)
            yield pair


def _socket_inode(server_port: int, client_port: int) -> str | None:
    """The inode of the server's end of a TCP connection on 127.0.0.1 (proc(5), net/tcp)."""
    wanted = f"0100007F:{server_port:04X}", f"0100007F:{client_port:04X}"
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if (fields[1], fields[2]) == wanted:
            return fields[9]
    return None


def _holds(pid: int, inode: str) -> bool:
    try:
        return any(
            str(entry.readlink()) == f"socket:[{inode}]"
            for entry in Path(f"/proc/{pid}/fd").iterdir()
        )
    except OSError:
        return False


def speech_body(model: str, text: str, **fields: object) -> bytes:
    """A request for raw audio; `fields` are added or replaced."""
    body = {"model": model, "voice": "alloy", "input": text, "response_format": "pcm", **fields}
    return json.dumps(body).encode()
