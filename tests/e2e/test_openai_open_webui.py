"""What Open WebUI asks before it speaks: models and voices, and no key with either."""

from collections.abc import Iterator

import httpx
import pytest

from tests.e2e.platform import Platform
from tests.e2e.speech_client import SpeechClient

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("platform")]

PATHS = ("/v1/audio/models", "/v1/audio/voices")
BUNDLED = {
    "af_heart", "am_michael", "bf_emma", "bm_george",
    "zf_xiaobei", "zf_xiaoxiao", "zm_yunjian", "zm_yunxi",
}  # fmt: skip


@pytest.fixture
def public(platform: Platform) -> Iterator[None]:
    """The catalogue is public for the time of a test."""
    _switch(platform, on=True)
    yield
    _switch(platform, on=False)


def _switch(platform: Platform, *, on: bool) -> None:
    code = "from voicehost.services import platform_settings_update as update"
    code += f"; update(public_catalogue={on})"
    platform.manage("shell", "-v", "0", "-c", code)


def _read(client: SpeechClient | httpx.Client) -> tuple[set[str], dict[str, str]]:
    """As Open WebUI reads the two lists."""
    http = client.http if isinstance(client, SpeechClient) else client
    models, voices = (http.get(path).raise_for_status().json() for path in PATHS)
    return (
        {model["id"] for model in models["models"]},
        {voice["id"]: voice["name"] for voice in voices["voices"]},
    )


def test_lists_are_read_with_a_key(speech: SpeechClient) -> None:
    models, voices = _read(speech)
    assert {"tts-1", "tts-1-hd", "kokoro"} <= models
    assert voices.keys() >= BUNDLED
    assert all(voices.values())


def test_without_a_key_they_are_refused(platform: Platform) -> None:
    with httpx.Client(base_url=platform.url, trust_env=False) as anybody:
        assert [anybody.get(path).status_code for path in PATHS] == [401, 401]


@pytest.mark.usefixtures("public")
def test_public_catalogue_is_read_without_a_key(platform: Platform) -> None:
    with httpx.Client(base_url=platform.url, trust_env=False) as anybody:
        models, voices = _read(anybody)
        assert "tts-1" in models
        assert voices.keys() >= BUNDLED
        body = anybody.get(PATHS[1]).json()
        assert body["object"] == "list"
        assert body["data"] == body["voices"]
        names = anybody.get(PATHS[1], params={"legacy": "true"}).json()["voices"]
        assert set(names) >= BUNDLED
        # Listing is all that is public.
        assert anybody.post("/v1/audio/speech", json={}).status_code == 401
