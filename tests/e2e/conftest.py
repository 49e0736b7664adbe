"""Platforms that end-to-end tests share: starting one takes seconds."""

from collections.abc import Iterator

import pytest

from tests.e2e.platform import Platform, platform_running


@pytest.fixture(scope="session")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """The default stack: what `make run` starts."""
    with platform_running(tmp_path_factory.mktemp("platform") / "var") as running:
        yield running
