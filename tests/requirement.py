"""What a test needs from the machine: skipped with the reason for a user, a failure in CI."""

import os
import shutil
from typing import NoReturn

import pytest


def missing(what: str) -> NoReturn:
    """Skip the running test because `what` is missing; with CI=true, fail."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"CI must have {what}")
    pytest.skip(f"needs {what}")


def program(*names: str) -> str:
    """The path of the first of `names` on PATH."""
    for name in names:
        found = shutil.which(name)
        if found:
            return found
    missing(" or ".join(names))
