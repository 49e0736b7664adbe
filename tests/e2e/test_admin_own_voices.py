"""An operator makes a voice from a recording in the browser; it speaks, and is taken out of use."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.e2e.admin_browser import ANSWER_MS, Admin, browser_running, in_force
from tests.e2e.chattts_weights import chattts_running
from tests.e2e.platform import Platform
from tests.tts.api.own_voices.material import CONSENT, TRANSCRIPT, recording
from voicehost.bench.stack import credentials_of

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("chattts"), pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def chattts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """A platform that speaks with tiny random ChatTTS weights."""
    with chattts_running(tmp_path_factory.mktemp("own-voices")) as platform:
        yield platform


@pytest.fixture
def operator(chattts: Platform) -> Iterator[Admin]:
    """The administrator, signed in; the console stays empty."""
    credentials = credentials_of(chattts.var_dir)
    with browser_running() as browser:
        admin = Admin(browser, chattts)
        admin.sign_in(credentials["admin_user"], credentials["admin_password"])
        yield admin
        assert admin.problems == []


def status(platform: Platform, voice: str) -> int:
    """How a request for a word in `voice` ends."""
    answer = httpx.post(
        f"{platform.url}/v1/audio/speech",
        headers={"Authorization": f"Bearer {platform.key}"},
        json={"model": "chattts", "voice": voice, "input": "hi there", "response_format": "pcm"},
        timeout=ANSWER_MS / 1000,
    )
    return answer.status_code


def test_voice_from_a_recording(chattts: Platform, operator: Admin, tmp_path: Path) -> None:
    file = tmp_path / "anna.wav"
    file.write_bytes(recording(1.0))
    page = operator.open("tts/voice/add/")
    typed = {
        "name": "anna", "display_name": "Anna", "engine": "chattts", "languages": "zh\nen",
        "transcript": TRANSCRIPT,
    }  # fmt: skip
    for name, value in typed.items():
        page.locator(f"[name={name}]").fill(value)
    page.locator("[name=recording]").set_input_files(file)
    operator.save()
    assert "has 1.0 seconds, 2 to 8 are taken" in operator.message()
    file.write_bytes(recording())
    page.locator("[name=recording]").set_input_files(file)
    operator.save()
    assert "say who agreed to the use of the voice" in operator.message()
    page.locator("[name=recording]").set_input_files(file)
    page.locator("[name=consent]").fill(CONSENT)
    operator.save()
    in_force(lambda: status(chattts, "anna"), 200, look_seconds=5.0)
    entry = operator.latest_change("anna")
    assert (entry["Who"], entry["Thing"], entry["Action"].lower()) == ("admin", "Voice", "create")

    shown = operator.find("tts/voice", "anna").locator("#content").inner_text()
    assert "Recording" in shown
    assert "admin" in shown
    operator.open("tts/voice/?q=anna")
    page.locator("#result_list tbody [name=_selected_action]").first.check()
    page.locator("[name=action]").first.select_option(label="Take out of use")
    operator.follow(page.get_by_role("button", name="Run", exact=False).first)
    assert "anna is out of use" in page.content()
    in_force(lambda: status(chattts, "anna"), 404, look_seconds=5.0)
