"""Fixtures for tests that listen; loaded through `pytest_plugins`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.requirement import missing

if TYPE_CHECKING:
    from tests.speech.judge import Recogniser


@pytest.fixture(scope="session")
def recogniser() -> "Iterator[Recogniser]":
    """The recogniser that all test processes share."""
    from tests.speech.whisper import missing_module

    module = missing_module()
    if module is not None:
        missing(f"the Python package {module}")
    from tests.speech.judge import Recogniser
    from tests.speech.shared import SharedTranscriber

    transcriber = SharedTranscriber()
    yield Recogniser(transcriber)
    transcriber.close()
