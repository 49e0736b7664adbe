"""A full disk ends a command with one line, and leaves nothing half done."""

import errno
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import OperationalError

from voicehost.env import ROOT
from voicehost.full_disk import full_disk_line

FULL = Path("/dev/full")


def raised(action: Callable[[], object]) -> Exception:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - the kind is the test's subject
        action()
    return caught.value


def sqlite_fill() -> None:
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("PRAGMA max_page_count=2")
        connection.execute("CREATE TABLE t (x)")
        connection.execute("INSERT INTO t VALUES (zeroblob(100000))")
    except sqlite3.Error as error:
        raise OperationalError(*error.args) from error
    finally:
        connection.close()


def test_a_full_database_is_told() -> None:
    line = full_disk_line(raised(sqlite_fill))
    assert line is not None
    assert "disk of the database is full; nothing was stored" in line


def test_postgresql_says_it_by_its_code() -> None:
    cause = Exception("could not extend file")
    cause.sqlstate = "53100"  # type: ignore[attr-defined]
    error = OperationalError("could not extend file")
    error.__cause__ = cause
    assert "disk of the database is full" in (full_disk_line(error) or "")


@pytest.mark.skipif(not FULL.exists(), reason="only Linux has /dev/full")
def test_a_file_that_does_not_fit_is_named(tmp_path: Path) -> None:
    error = raised(lambda: FULL.write_text("x"))
    assert (full_disk_line(error) or "").startswith("The disk is full.")
    named = OSError(errno.ENOSPC, "No space left on device", str(tmp_path))
    assert f"({tmp_path})" in (full_disk_line(named) or "")


def test_libraries_that_have_words_only_are_understood() -> None:
    assert full_disk_line(Exception("No space left on device (os error 28)")) is not None


@pytest.mark.parametrize(
    "error", [OSError(errno.EACCES, "no"), OperationalError("locked"), ValueError("x")]
)
def test_other_failures_stay_what_they_are(error: Exception) -> None:
    assert full_disk_line(error) is None


@pytest.fixture
def manage(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a command on a SQLite database of its own; returns when it has ended."""
    environment = {
        "PATH": os.environ["PATH"],
        "DJANGO_SETTINGS_MODULE": "voicehost.settings.dev",
        "VAR_DIR": str(tmp_path / "var"),
        "REDIS_URL": "redis://127.0.0.1:1/0",
        "LOG_LEVEL": "CRITICAL",
    }

    def manage(*arguments: str, into: Path | None = None) -> subprocess.CompletedProcess[str]:
        with (into or tmp_path / "out").open("w") as out:
            return subprocess.run(
                [sys.executable, str(ROOT / "manage.py"), *arguments],
                env=environment, stdout=out, stderr=subprocess.PIPE, text=True, timeout=120,
                check=False,
            )  # fmt: skip

    (tmp_path / "var").mkdir()
    return manage


@pytest.mark.skipif(not FULL.exists(), reason="only Linux has /dev/full")
def test_a_key_that_cannot_be_printed_is_not_made(
    manage: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    assert manage("migrate", "--verbosity", "0").returncode == 0
    create = ("apikey_create", "--tenant", "acme", "--tier", "standard", "--create")
    result = manage(*create, into=FULL)
    assert result.returncode == 1
    assert result.stderr.splitlines() == ["The disk is full. Make space and run the command again."]
    (database,) = (tmp_path / "var").glob("*.sqlite3")
    connection = sqlite3.connect(database)
    for table in ("tenants_apikey", "tenants_tenant"):
        assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
    connection.close()
