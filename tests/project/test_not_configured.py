"""A program whose environment is wrong ends with one line that says so."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from voicehost.env import ROOT

MANAGE = (sys.executable, str(ROOT / "manage.py"))
CELERY = (sys.executable, "-m", "celery", "--quiet", "-A", "voicehost.celery")


@pytest.mark.parametrize(
    "command",
    [(*MANAGE, "serve"), (*MANAGE, "check"), (*CELERY, "worker"), (*CELERY, "beat")],
    ids=["serve", "check", "celery worker", "celery beat"],
)
def test_it_ends_with_one_line(command: tuple[str, ...], tmp_path: Path) -> None:
    result = subprocess.run(
        command,
        cwd=ROOT,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": f"{ROOT}:{ROOT / 'platform'}",
            "VAR_DIR": str(tmp_path),
            "PORT": "abc",
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.stderr == (
        "Not configured: PORT is 'abc', but must be a whole number from 1 to 65535\n"
    )
    assert result.stdout == ""
    assert result.returncode == 1
