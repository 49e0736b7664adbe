"""Synthesis workers as real processes, over a Redis and a database of their own."""

import asyncio
import base64
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.redis_server import RedisServer
from tts.gateway.redis import RedisGateway

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 60.0

REGISTER = """
import json, sys
from models_registry.manifest import Manifest
from models_registry.services import (
    route_create, route_set, speech_model_create, version_register,
)
from models_registry.states import VersionState
model = speech_model_create(name="tone", engine="tone")
version = version_register(model=model, manifest=Manifest.from_json(json.loads({manifest!r})),
                           state=VersionState.{state})
route_create(name="tone")
route_set("tone", {{version.key: 100}}, "test")
"""


@dataclass
class Synthesizers:
    """What is running; `version` is the key that has all the weight."""

    server: RedisServer
    environment: dict[str, str]
    folder: Path
    version: str = "tone@1"
    processes: dict[str, "subprocess.Popen[bytes]"] = field(default_factory=dict)

    def manage(self, *arguments: str) -> str:
        """Run a management command to its end."""
        result = subprocess.run(
            [sys.executable, str(ROOT / "manage.py"), *arguments],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert result.returncode == 0, result.stderr
        return result.stdout

    def start(self, worker_id: str, *arguments: str) -> None:
        """Start a worker; its log goes to a file."""
        with (self.folder / f"{worker_id}.log").open("ab") as log:
            self.processes[worker_id] = subprocess.Popen(
                [sys.executable, str(ROOT / "manage.py"), "run_synthesizer",
                 "--worker-id", worker_id, *arguments],
                env=self.environment, stdout=log, stderr=log,
            )  # fmt: skip

    def kill(self, worker_id: str) -> None:
        """End a worker as a fault does."""
        process = self.processes.pop(worker_id)
        process.send_signal(signal.SIGKILL)
        process.wait()

    def log(self, worker_id: str) -> str:
        """What a worker has written."""
        return (self.folder / f"{worker_id}.log").read_text()


async def workers_ready(gateway: RedisGateway, running: Synthesizers, *worker_ids: str) -> None:
    """Wait until these workers can speak the version."""
    deadline = time.monotonic() + START_SECONDS
    while not all(
        worker_id in gateway.workers and running.version in gateway.workers[worker_id].versions
        for worker_id in worker_ids
    ):
        for worker_id in worker_ids:
            assert running.processes[worker_id].poll() is None, running.log(worker_id)
        assert time.monotonic() < deadline, [running.log(worker_id) for worker_id in worker_ids]
        await asyncio.sleep(0.05)


@contextmanager
def synthesizers_prepared(
    server: RedisServer, folder: Path, **tone: object
) -> Iterator[Synthesizers]:
    """A database with one tone version (its settings are `tone`); workers are started by hand."""
    config = json.dumps(tone).encode()
    manifest = {
        "engine": "tone",
        "version": "1",
        "sample_rate": 24_000,
        "languages": ["en", "zh"],
        "shards": [
            {
                "name": "config",
                "role": "core",
                "sources": ["inline:" + base64.b64encode(config).decode()],
                "bytes": len(config),
                "sha256": hashlib.sha256(config).hexdigest(),
            }
        ],
    }
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "voicehost.settings.dev",
        "VAR_DIR": str(folder),
        "DATABASE_URL": f"sqlite:///{folder / 'test.sqlite3'}",
        "REDIS_URL": server.url,
        "OMP_NUM_THREADS": "1",
    }
    running = Synthesizers(server, environment, folder)
    running.manage("migrate", "--verbosity", "0")
    running.manage("shell", "-c", REGISTER.format(manifest=json.dumps(manifest), state="READY"))
    try:
        yield running
    finally:
        for process in running.processes.values():
            process.kill()
            process.wait()
