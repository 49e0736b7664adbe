import pytest

from tts.text.normalise import warm_up


@pytest.fixture(scope="session", autouse=True)
def _loaded() -> None:
    warm_up()
