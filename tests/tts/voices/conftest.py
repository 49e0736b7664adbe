"""Voices, and a cache whose epoch the test moves by hand."""

import pytest

from coordination.epoch import ConfigCache
from tests.epoch import Epoch
from tts.services import voices_sync
from tts.voice_catalogue import KOKORO


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
