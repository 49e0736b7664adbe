"""Platforms that end-to-end tests share: starting one takes seconds."""

from collections.abc import Iterator

import pytest

from tests.e2e.admin_browser import Admin, browser_running
from tests.e2e.pair import Pair, pair_running, until
from tests.e2e.platform import Platform, platform_running
from voicehost.bench.stack import credentials_of


@pytest.fixture(scope="session")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """The default stack: what `make run` starts."""
    with platform_running(tmp_path_factory.mktemp("platform") / "var") as running:
        yield running


@pytest.fixture(scope="module")
def admin(platform: Platform) -> Iterator[Admin]:
    """The administrator of the first start, signed in."""
    credentials = credentials_of(platform.var_dir)
    with browser_running() as browser:
        signed_in = Admin(browser, platform)
        signed_in.sign_in(credentials["admin_user"], credentials["admin_password"])
        yield signed_in


@pytest.fixture(scope="session")
def shared_pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Two synthesis workers and two web processes, to be killed and reconfigured."""
    with pair_running(tmp_path_factory.mktemp("pair")) as running:
        yield running


@pytest.fixture
def pair(shared_pair: Pair) -> Pair:
    """The shared platform, recovered from what the test before did to it."""
    until(shared_pair.is_whole, seconds=60)
    return shared_pair
