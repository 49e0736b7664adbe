"""A program whose environment is wrong ends with one line that says so."""

from pathlib import Path

import pytest

from tests.project.program import CELERY, MANAGE, program_run


@pytest.mark.parametrize(
    "command",
    [(*MANAGE, "serve"), (*MANAGE, "check"), (*CELERY, "worker"), (*CELERY, "beat")],
    ids=["serve", "check", "celery worker", "celery beat"],
)
def test_it_ends_with_one_line(command: tuple[str, ...], tmp_path: Path) -> None:
    result = program_run(command, tmp_path, PORT="abc")
    assert result.stderr == (
        "Not configured: PORT is 'abc', but must be a whole number from 1 to 65535\n"
    )
    assert result.stdout == ""
    assert result.returncode == 1
