"""The state folder: for the user that runs Voicehost, and nobody else."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FOLDER_MODE = 0o700
PRIVATE_UMASK = 0o077
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def state_folder_make(var_dir: Path) -> None:
    """Make the folder, closed to others; one that is there stays as it is."""
    var_dir.parent.mkdir(parents=True, exist_ok=True)
    var_dir.mkdir(mode=FOLDER_MODE, exist_ok=True)


def state_folder_is_open(var_dir: Path) -> bool:
    """Whether others than its owner may enter or read the folder."""
    return bool(var_dir.stat().st_mode & _OTHERS)


@contextmanager
def files_private() -> Iterator[None]:
    """What this process and its children make meanwhile is for their user only."""
    before = os.umask(PRIVATE_UMASK)
    try:
        yield
    finally:
        os.umask(before)
