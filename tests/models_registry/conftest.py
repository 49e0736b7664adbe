"""Models and versions to route between, and a cache whose epoch the test moves by hand."""

import pytest
from pytest_django import Settings

from coordination.epoch import ConfigCache
from tests.epoch import Epoch
from tests.models_registry.registering import VersionMaker, version_of


@pytest.fixture
def version_make(db: None) -> VersionMaker:
    """Registers version `label` of model `model`, ready for traffic."""
    return version_of


@pytest.fixture
def epoch() -> Epoch:
    """An epoch under the test's control."""
    return Epoch()


@pytest.fixture
def cache(epoch: Epoch) -> ConfigCache:
    """A cache that follows `epoch`."""
    return ConfigCache(read_epoch=epoch.read, clock=lambda: epoch.now)


@pytest.fixture(autouse=True)
def no_collected_static_files(settings: Settings) -> None:
    """The test run collects none, and WhiteNoise warns of it unless it looks by itself."""
    settings.WHITENOISE_AUTOREFRESH = True
