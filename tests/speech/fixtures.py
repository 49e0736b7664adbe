"""Fixtures for tests that listen; loaded through `pytest_plugins`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.requirement import missing

if TYPE_CHECKING:
    from tts.recognition.recogniser import Recogniser


@pytest.fixture(scope="session")
def recogniser() -> "Iterator[Recogniser]":
    """The recogniser that all test processes share."""
    from tts.recognition.whisper import missing_module

    module = missing_module()
    if module is not None:
        missing(f"the Python package {module}")
    from tests.speech.shared import SharedTranscriber
    from tts.recognition.recogniser import Recogniser

    transcriber = SharedTranscriber()
    yield Recogniser(transcriber)
    transcriber.close()
