"""The official npm client, unchanged, against a running platform."""

import base64
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.platform import ROOT, Platform
from tests.e2e.speech_client import RATE, SpeechClient, samples
from tests.requirement import missing, program
from tests.speech.judge import decode

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("platform"), pytest.mark.timeout(300)]

PACKAGE = Path(__file__).parent / "npm"
FILES = ("package.json", "package-lock.json", ".npmrc", "speak.mjs")


@pytest.fixture(scope="module")
def package() -> Path:
    """A folder with the pinned client installed; kept while the pinned files stay the same."""
    npm = program("npm")
    digest = hashlib.sha256(b"".join((PACKAGE / name).read_bytes() for name in FILES)).hexdigest()
    cache = ROOT / "var" / "cache" / "npm"
    cache.mkdir(parents=True, exist_ok=True)
    folder = cache / digest[:16]
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            for name in FILES:
                shutil.copy(PACKAGE / name, folder / name)
            result = subprocess.run(
                [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=240,
                check=False,
            )
            if result.returncode != 0:
                missing(f"npm's packages ({result.stderr.strip()[-300:]})")
            (folder / "complete").touch()
    return folder


@pytest.fixture(scope="module")
def got(platform: Platform, package: Path) -> dict[str, Any]:
    """What the client's script got."""
    result = subprocess.run(
        [program("node"), "speak.mjs"],
        cwd=package,
        env=os.environ | {"BASE_URL": f"{platform.url}/v1", "API_KEY": platform.key},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    value: dict[str, Any] = json.loads(result.stdout)
    return value


def test_whole_answer_is_the_default_format(got: dict[str, Any]) -> None:
    assert got["whole"]["type"] == "audio/mpeg"
    audio, rate = decode(base64.b64decode(got["whole"]["audio"]), "mp3")
    assert len(audio) / rate > 1.0


def test_stream_comes_in_pieces_and_whole(got: dict[str, Any], speech: SpeechClient) -> None:
    streamed = samples(base64.b64decode(got["streamed"]["audio"]))
    assert got["streamed"]["pieces"] > 1
    text = "Hello from the official client. " * 8
    assert (streamed == speech.pcm(text, voice="alloy", seed=4)).all()
    assert len(streamed) / RATE > 8.0


def test_events_have_their_types(got: dict[str, Any]) -> None:
    assert got["events"]["type"].startswith("text/event-stream")
    *deltas, done = got["events"]["kinds"]
    assert set(deltas) == {"speech.audio.delta"}
    assert done == "speech.audio.done"


def test_models_are_listed(got: dict[str, Any]) -> None:
    assert {"tts-1", "tts-1-hd", "gpt-4o-mini-tts", "kokoro"} <= set(got["models"])


@pytest.mark.parametrize(
    ("case", "name", "status", "code", "param"),
    [
        ("voice", "NotFoundError", 404, "voice_not_found", "voice"),
        ("input", "BadRequestError", 400, "missing_required_parameter", "input"),
        ("key", "AuthenticationError", 401, "invalid_api_key", None),
    ],
)
def test_errors_are_the_clients_own(
    got: dict[str, Any], case: str, name: str, status: int, code: str, param: str | None
) -> None:
    expected = {"name": name, "status": status, "code": code, "param": param}
    assert got["errors"][case] == expected
