"""`make` says what it is doing while it is silent for long, and what it needs to be told."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.requirement import program
from voicehost.env import ROOT


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    """A virtual environment whose programs only note how they were called."""
    folder = tmp_path / "venv"
    (folder / "bin").mkdir(parents=True)
    (folder / ".python").touch()
    for name in ("python", "pip"):
        tool = folder / "bin" / name
        tool.write_text(f'#!/bin/sh\necho "{name} $*" >> "{folder}/calls"\n')
        tool.chmod(0o755)
    return folder


def make(venv: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
    return subprocess.run(
        [program("make"), "--no-print-directory", f"VENV={venv}", *arguments],
        cwd=ROOT,
        env={**kept, **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def calls(venv: Path) -> str:
    found = venv / "calls"
    return found.read_text() if found.exists() else ""


def test_an_installation_says_how_much_and_how_long(venv: Path) -> None:
    result = make(venv, "setup")
    assert result.returncode == 0, result.stderr
    assert "about 2 GB" in result.stdout
    assert "some minutes" in result.stdout
    assert "bundled voices" in result.stdout
    assert calls(venv).count("pip install") == 2


def test_nothing_is_said_where_nothing_is_installed(venv: Path) -> None:
    make(venv, "setup")
    result = make(venv, "setup")
    assert result.returncode == 0
    assert result.stdout == ""
    assert calls(venv).count("pip install") == 2


def test_a_python_without_its_venv_package_is_told(tmp_path: Path) -> None:
    python = tmp_path / "python3.11"
    python.write_text(
        "#!/bin/sh\n"
        'case "$*" in *ensurepip*) exit 1 ;; *version_info*) echo python3.11-venv ;; esac\n'
        f'echo "$*" >> "{tmp_path}/calls"\n'
    )
    python.chmod(0o755)
    result = make(tmp_path / "venv", "setup", f"PYTHON={python}")
    assert result.returncode != 0
    assert "apt install python3.11-venv" in result.stdout
    assert "-m venv" not in (tmp_path / "calls").read_text()


def test_development_says_what_it_adds(venv: Path) -> None:
    assert "about 1 GB" in make(venv, "setup-dev").stdout


def test_say_asks_for_a_text_before_it_installs_anything(venv: Path) -> None:
    result = make(venv, "say")
    assert result.returncode != 0
    (line,) = result.stderr.splitlines()
    assert 'make say TEXT="你好, hello there" OUT=hello.mp3' in line
    assert calls(venv) == ""


@pytest.mark.parametrize("given", ["argument", "environment"])
def test_say_passes_the_text_on_as_it_is(venv: Path, given: str) -> None:
    text = '-5 "quoted" words; and `more` for $500.'
    if given == "argument":
        result = make(venv, "say", f"TEXT={text}", "OUT=a b.mp3")
    else:
        result = make(venv, "say", TEXT=text, OUT="a b.mp3")
    assert result.returncode == 0, result.stderr
    assert f"python manage.py say --out a b.mp3 -- {text}" in calls(venv)
