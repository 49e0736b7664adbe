"""A benchmark samples the CUDA device that it uses, by the driver's tool."""

import os
from pathlib import Path

import pytest

from voicehost.bench import gpu
from voicehost.bench.gpu import gpu_use

TOOL = """#!/bin/sh
echo "$@" > "$0.arguments"
echo 40; echo 80; echo "[N/A]"; printf 9
echo > "$0.ready"
exec sleep 60
"""


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / gpu.TOOL
    path.write_text(TOOL)
    path.chmod(0o755)
    os.mkfifo(path.with_name(f"{path.name}.ready"))  # whoever reads it waits for the tool
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(gpu, "device_uuid", lambda device: "12-34")
    return path


def test_samples_are_those_of_the_device(tool: Path) -> None:
    with gpu_use("cuda:0") as use:
        tool.with_name(f"{tool.name}.ready").read_text()
    assert use.busy == [40.0, 80.0]
    assert use.mean == 60.0
    arguments = tool.with_name(f"{tool.name}.arguments").read_text()
    assert "--id GPU-12-34" in arguments


def test_nothing_is_known_of_a_cpu(tool: Path) -> None:
    with gpu_use("cpu") as use:
        pass
    assert use.mean is None


def test_nothing_is_known_without_the_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with gpu_use("cuda:0") as use:
        pass
    assert (use.busy, use.mean) == ([], None)
