"""Models and versions to route between, and a cache whose epoch the test moves by hand."""

import pytest

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
