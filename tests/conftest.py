"""Fixtures for every test."""

import os

import pytest

# The recogniser and the engines bring their own thread pools: two cores are shared by two workers.
os.environ.setdefault("OMP_NUM_THREADS", "1")

pytest_plugins = ["tests.speech.fixtures", "tests.e2e.speech_fixtures", "tests.e2e.bad_input"]

_MAX_ID = 80


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    """Name a long value by its beginning.

    pytest puts a test's name into the environment, and Linux starts no program with a variable
    of 128 KiB or more.
    """
    del config
    if isinstance(val, str | bytes) and len(val) > _MAX_ID:
        return f"{argname}-{val[:20]!r}-{len(val)}"
    return None
