from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.tts.speech.speech_fakes import Platform, platform_new


@pytest.fixture
async def speech_platform() -> AsyncIterator[Platform]:
    """A speech service on fakes."""
    with ThreadPoolExecutor(2) as executor:
        made = platform_new(executor)
        await made.service.start()
        yield made
        await made.service.stop()
