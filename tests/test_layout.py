"""The layout keeps its promises: `platform/` is a source root and never a package."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_standard_library_platform_is_not_shadowed() -> None:
    result = subprocess.run(
        [sys.executable, "-c", "import platform; print(platform.system())"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip()


def test_platform_holds_packages_only() -> None:
    assert not list((ROOT / "platform").glob("*.py"))
    assert not (ROOT / "tests" / "platform").exists()


def test_card_packages_are_pinned() -> None:
    pinned = {
        line.split("==")[0].strip().lower()
        for line in (ROOT / "requirements.txt").read_text().splitlines()
        if "==" in line
    }
    card = {
        "django", "channels", "daphne", "celery", "redis", "torch", "chattts", "numpy",
        "django-prometheus", "pytest-django",
    }  # fmt: skip
    assert card <= pinned, card - pinned
