"""Voices, and a cache whose epoch the test moves by hand."""

from pathlib import Path

import pytest
from pytest_django import Settings

from coordination.epoch import ConfigCache
from tests.epoch import Epoch
from tests.tts.voices.seeds import KOKORO
from tts.engines.chattts.random_checkpoint import RandomCheckpoint, Size
from tts.services import voices_sync


@pytest.fixture
def epoch() -> Epoch:
    """An epoch under the test's control."""
    return Epoch()


@pytest.fixture
def cache(epoch: Epoch) -> ConfigCache:
    """A cache that follows `epoch`."""
    return ConfigCache(read_epoch=epoch.read, clock=lambda: epoch.now)


@pytest.fixture
def kokoro(db: None) -> None:
    """Kokoro's eight public voices."""
    voices_sync("kokoro", KOKORO)


@pytest.fixture(autouse=True)
def no_collected_static_files(settings: Settings) -> None:
    """The test run collects none, and WhiteNoise warns of it unless it looks by itself."""
    settings.WHITENOISE_AUTOREFRESH = True


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ChatTTS checkpoint's folder."""
    folder = tmp_path_factory.mktemp("checkpoint") / "tiny"
    RandomCheckpoint(Size.TINY).write(folder)
    return folder
