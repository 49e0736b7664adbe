"""Our programs, run to their end in an environment of nothing but what a test gives."""

import os
import subprocess
import sys
from pathlib import Path

from voicehost.env import ROOT

MANAGE = (sys.executable, str(ROOT / "manage.py"))
CELERY = (sys.executable, "-m", "celery", "--quiet", "-A", "voicehost.celery")


def program_run(
    command: tuple[str, ...], var_dir: Path, **environment: str
) -> "subprocess.CompletedProcess[str]":
    """Run it; what it says and its exit code are for the test to judge."""
    return subprocess.run(
        command,
        cwd=ROOT,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": f"{ROOT}:{ROOT / 'platform'}",
            "VAR_DIR": str(var_dir),
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
