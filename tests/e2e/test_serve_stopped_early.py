"""A `serve` that is stopped or killed while it prepares leaves nothing behind."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.family import alive, descendants
from tests.e2e.pair import until
from tests.e2e.platform import ROOT
from voicehost.bench.stack import free_port

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

STOP_SECONDS = 20.0
"""Redis writes its file and ends; a busy machine adds the most of it."""


@pytest.fixture
def silent_database() -> Iterator[socket.socket]:
    """A server that takes connections and says nothing, so that migrations wait."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(60)
        yield listening


@pytest.fixture
def preparing(
    tmp_path: Path, silent_database: socket.socket
) -> Iterator["subprocess.Popen[bytes]"]:
    """A `serve` whose preparation is under way."""
    port = silent_database.getsockname()[1]
    environment = {
        **{name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"},
        "VAR_DIR": str(tmp_path / "var"),
        "PORT": str(free_port()),
        "EMBEDDED_REDIS": "1",
        "DATABASE_URL": f"postgres://nobody@127.0.0.1:{port}/nothing",
    }
    with (tmp_path / "serve.log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, str(ROOT / "manage.py"), "serve"],
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    connection, _ = silent_database.accept()
    with connection:
        yield process
    process.kill()
    process.wait()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stop_ends_the_preparation(
    tmp_path: Path, preparing: "subprocess.Popen[bytes]", number: signal.Signals
) -> None:
    family = descendants(preparing.pid)
    assert len(family) == 2  # Redis and the preparation
    preparing.send_signal(number)
    assert preparing.wait(STOP_SECONDS) == 0
    assert alive(family) == []
    assert "Traceback" not in (tmp_path / "serve.log").read_text()


@pytest.mark.skipif(sys.platform != "linux", reason="needs prctl(2)")
def test_preparation_does_not_outlive_a_killed_supervisor(
    preparing: "subprocess.Popen[bytes]",
) -> None:
    family = descendants(preparing.pid)
    assert len(family) == 2
    preparing.kill()
    until(lambda: not alive(family))
