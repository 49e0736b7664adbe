"""A disk without space, said in one line by whatever command meets it."""

import errno
import sqlite3
from collections.abc import Iterator

NO_SPACE = frozenset((errno.ENOSPC, errno.EDQUOT))
POSTGRESQL_DISK_FULL = "53100"
ADVICE = "Make space and run the command again"


def full_disk_line(error: BaseException) -> str | None:
    """What to tell where a full disk is behind `error`; None where it is something else."""
    for cause in _causes(error):
        if isinstance(cause, OSError) and cause.errno in NO_SPACE:
            where = f" ({cause.filename})" if cause.filename else ""
            return f"The disk is full{where}. {ADVICE}."
        # Libraries in Rust (tokenizers, safetensors) have the number in words only.
        if f"(os error {errno.ENOSPC})" in str(cause):
            return f"The disk is full. {ADVICE}."
        if isinstance(cause, sqlite3.Error):
            if getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
                return f"The disk of the database is full; nothing was stored. {ADVICE}."
        elif getattr(cause, "sqlstate", None) == POSTGRESQL_DISK_FULL:
            return f"The disk of the database is full; nothing was stored. {ADVICE}."
    return None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
