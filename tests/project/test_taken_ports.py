"""A port that is taken is named in one line, with its setting, before anything is started."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.project.server_process import ROOT
from voicehost.bench.stack import free_port


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


def refusal(folder: Path, command: str, **settings: str) -> str:
    """What a command that must end by itself says."""
    result = subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), *command.split()],
        env={
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "voicehost.settings.dev",
            "VAR_DIR": str(folder),
            "EMBEDDED_REDIS": "1",
            "PORT": str(free_port()),
            **settings,
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 1
    # That it runs as root, or in a folder of others, it may say as well.
    lines = [line for line in result.stderr.splitlines() if " cannot be used " in line]
    assert len(lines) == 1
    assert "Traceback" not in result.stderr
    assert "process_started" not in result.stdout + result.stderr
    return lines[0]


@pytest.mark.parametrize("command", ["serve", "run_web", "run_web --server uvicorn"])
def test_taken_port(tmp_path: Path, taken: int, command: str) -> None:
    said = refusal(tmp_path, command, PORT=str(taken))
    assert f"127.0.0.1:{taken} cannot be used (Address already in use): set PORT" in said


@pytest.mark.parametrize("command", ["run_web", "run_synthesizer"])
def test_taken_port_for_metrics(tmp_path: Path, taken: int, command: str) -> None:
    said = refusal(tmp_path, command, METRICS_PORT=str(taken))
    assert f"127.0.0.1:{taken} cannot be used for metrics (Address already in use)" in said
    assert "set METRICS_PORT" in said


def test_serve_looks_at_the_ports_for_metrics_of_all_its_processes(
    tmp_path: Path, taken: int
) -> None:
    said = refusal(tmp_path, "serve", METRICS_PORT=str(taken - 1), SYNTHESIS_WORKERS="1")
    assert f"web-0: 127.0.0.1:{taken} cannot be used for metrics" in said
    assert "set METRICS_PORT" in said


def test_port_for_metrics_beyond_the_last_one(tmp_path: Path) -> None:
    said = refusal(tmp_path, "serve", METRICS_PORT="65535", SYNTHESIS_WORKERS="1")
    assert "web-0: 127.0.0.1:65536 cannot be used for metrics" in said
