"""A tiny random checkpoint, written once a session."""

from pathlib import Path

import pytest

from tts.engines.chattts.random_checkpoint import Ends, RandomCheckpoint, Size


@pytest.fixture(scope="session")
def chattts_tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder (with asset/ in it) of a tiny checkpoint whose utterances never end themselves."""
    folder = tmp_path_factory.mktemp("chattts") / "tiny"
    RandomCheckpoint(Size.TINY).write(folder)
    return folder


@pytest.fixture(scope="session")
def chattts_tiny_ending(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same weights, except that utterances end by themselves after some tokens."""
    folder = tmp_path_factory.mktemp("chattts") / "ending"
    RandomCheckpoint(Size.TINY, ends=Ends.LIKELY).write(folder)
    return folder
