"""The state folder is made for its owner only, and so is what gets into it."""

import os
import stat
from io import StringIO
from pathlib import Path

import pytest
import structlog.testing

from voicehost.env import environment_read
from voicehost.management.commands import serve
from voicehost.state import files_private, state_folder_is_open, state_folder_make


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_it_is_closed_to_others(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "var"
    state_folder_make(folder)
    assert mode(folder) == 0o700
    assert not state_folder_is_open(folder)


def test_one_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    tmp_path.chmod(0o750)
    state_folder_make(tmp_path)
    assert mode(tmp_path) == 0o750
    assert state_folder_is_open(tmp_path)


def test_what_is_made_meanwhile_is_private(tmp_path: Path) -> None:
    with files_private():
        (tmp_path / "file").touch()
        (tmp_path / "folder").mkdir()
    (tmp_path / "later").touch()
    assert (mode(tmp_path / "file"), mode(tmp_path / "folder")) == (0o600, 0o700)
    assert mode(tmp_path / "later") == 0o666 & ~_umask()


def test_reading_the_settings_makes_it_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAR_DIR", str(tmp_path / "var"))
    monkeypatch.delenv("SECRET_KEY", raising=False)
    environment_read()
    assert mode(tmp_path / "var") == 0o700
    assert mode(tmp_path / "var" / "secret_key") == 0o600


def test_serve_says_that_a_folder_is_open_and_that_it_is_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o755)
    monkeypatch.setenv("VAR_DIR", str(tmp_path))
    monkeypatch.setattr("django.conf.settings.ENVIRONMENT", environment_read())
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with structlog.testing.capture_logs() as logs:
        serve.Command(stdout=StringIO())._state_prepare()
    assert [entry["event"] for entry in logs] == ["state_folder_open_to_others"]
    tmp_path.chmod(0o700)
    with structlog.testing.capture_logs() as logs:
        serve.Command(stdout=StringIO())._state_prepare()
    assert logs == []
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with structlog.testing.capture_logs() as logs:
        serve.Command(stdout=StringIO())._state_prepare()
    assert [entry["event"] for entry in logs] == ["running_as_root"]


def _umask() -> int:
    found = os.umask(0)
    os.umask(found)
    return found
