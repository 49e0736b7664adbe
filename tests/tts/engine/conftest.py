"""Fixtures of the engine core's tests."""

import pytest

from tests.tts.engine.core_harness import Recorder


@pytest.fixture
def recorder() -> Recorder:
    """A core driven by hand."""
    return Recorder()
