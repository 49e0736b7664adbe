"""The main flows on the other stacks: uvicorn, and PostgreSQL with a Redis server."""

import base64
import json
import re
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import psycopg
import pytest
import redis
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from tests.e2e.pair import speech_body
from tests.e2e.platform import Platform, platform_running
from tests.e2e.without_voices import python_path_without_voices
from tests.requirement import missing

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("stacks"), pytest.mark.timeout(240)]

TEXT = "The same on every stack."
POSTGRES = "127.0.0.1:5432"
REDIS = "redis://127.0.0.1:6379"


@contextmanager
def postgres_database() -> Iterator[str]:
    """The URL of a database of its own, dropped at the end."""
    name = f"voicehost_test_{secrets.token_hex(4)}"
    try:
        connection = psycopg.connect(
            f"postgres://postgres@{POSTGRES}/postgres", autocommit=True, connect_timeout=5
        )
    except psycopg.OperationalError as error:
        missing(f"PostgreSQL at {POSTGRES} that trusts the user postgres ({error})")
    with connection:
        connection.execute(f'CREATE DATABASE "{name}"')
        try:
            yield f"postgres://postgres@{POSTGRES}/{name}"
        finally:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@contextmanager
def redis_database() -> Iterator[str]:
    """The URL of a database number that nobody uses, emptied at the end."""
    for number in range(15, 0, -1):
        with redis.Redis.from_url(f"{REDIS}/{number}") as client:
            try:
                if client.dbsize():
                    continue
            except redis.RedisError as error:
                missing(f"a Redis server at {REDIS} ({error})")
            try:
                yield f"{REDIS}/{number}"
            finally:
                client.flushdb()
            return
    missing(f"an empty database at {REDIS}")


@pytest.fixture(scope="module", params=["uvicorn", "PostgreSQL and Redis"])
def stack(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Platform]:
    folder = tmp_path_factory.mktemp("stack")
    settings = {"PYTHONPATH": python_path_without_voices(folder / "python")}
    with ExitStack() as services:
        if request.param == "uvicorn":
            settings["ASGI_SERVER"] = "uvicorn"
        else:
            settings["DATABASE_URL"] = services.enter_context(postgres_database())
            settings["REDIS_URL"] = services.enter_context(redis_database())
        yield services.enter_context(platform_running(folder / "var", **settings))


@pytest.fixture
def client(stack: Platform) -> Iterator[httpx.Client]:
    headers = {"Authorization": f"Bearer {stack.key}", "Content-Type": "application/json"}
    with httpx.Client(base_url=stack.url, headers=headers, timeout=30) as client:
        yield client


def test_the_stack_is_what_was_asked_for(stack: Platform) -> None:
    (web,) = stack.processes("run_web")
    arguments = Path(f"/proc/{web}/cmdline").read_text()
    if stack.environment.get("ASGI_SERVER"):
        assert "uvicorn" in arguments
        assert len(stack.processes("redis.sock")) == 1
    else:
        assert "daphne" in arguments
        assert stack.processes("redis.sock") == []
        assert not list(stack.var_dir.glob("*.sqlite3"))


def test_speech_as_mp3(client: httpx.Client) -> None:
    answer = client.post(
        "/v1/audio/speech", content=speech_body("tts-1", TEXT, response_format="mp3")
    )
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "audio/mpeg"
    assert answer.headers["x-model-version"] == "tone@1"
    assert answer.content[:3] == b"ID3" or answer.content[0] == 0xFF


def test_speech_as_events_is_the_same_audio(client: httpx.Client) -> None:
    plain = client.post("/v1/audio/speech", content=speech_body("tts-1", TEXT, seed=3))
    body = speech_body("tts-1", TEXT, seed=3, stream_format="sse")
    with client.stream("POST", "/v1/audio/speech", content=body) as answer:
        events = [
            json.loads(line.removeprefix("data: ")) for line in answer.iter_lines() if line.strip()
        ]
    assert events[-1]["type"] == "speech.audio.done"
    assert b"".join(base64.b64decode(event["audio"]) for event in events[:-1]) == plain.content


def test_speech_over_a_socket(stack: Platform) -> None:
    with connect(
        f"ws://{stack.host}:{stack.port}/v1/audio/speech/stream",
        subprotocols=[Subprotocol("tts.v1")],
        additional_headers={"Authorization": f"Bearer {stack.key}"},
        open_timeout=30,
    ) as connection:
        connection.send(json.dumps({"type": "input_text.append", "text": TEXT}))
        connection.send(json.dumps({"type": "input_text.end"}))
        audio, kinds = b"", []
        while "speech.done" not in kinds:
            frame = connection.recv(timeout=30)
            if isinstance(frame, bytes):
                audio += frame
            else:
                message = json.loads(frame)
                kinds.append(message["type"])
    assert message["reason"] == "completed"
    assert audio.strip(b"\0")


def test_a_bad_key_is_refused(client: httpx.Client) -> None:
    answer = client.post(
        "/v1/audio/speech",
        content=speech_body("tts-1", TEXT),
        headers={"Authorization": "Bearer x"},
    )
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "invalid_api_key"


def test_models_are_listed(client: httpx.Client) -> None:
    answer = client.get("/v1/models")
    assert answer.status_code == 200
    assert "tts-1" in {model["id"] for model in answer.json()["data"]}


def test_an_administrator_logs_in(stack: Platform) -> None:
    credentials = json.loads((stack.var_dir / "credentials.json").read_text())
    with httpx.Client(base_url=stack.url, timeout=30, follow_redirects=True) as browser:
        page = browser.get("/admin/")
        assert page.url.path == "/admin/login/"
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
        assert token is not None
        form = {
            "csrfmiddlewaretoken": token.group(1),
            "username": credentials["admin_user"],
            "password": credentials["admin_password"],
            "next": "/admin/",
        }
        admin = browser.post("/admin/login/", data=form)
        assert admin.status_code == 200
        assert admin.url.path == "/admin/"
        keys = browser.get("/admin/tenants/apikey/")
        assert keys.status_code == 200
        assert stack.key[:11] in keys.text


def test_the_last_room_for_a_voice_goes_to_one_of_those_who_ask_at_once(stack: Platform) -> None:
    said = stack.manage("shell", "--no-imports", "-c", "import tests.e2e.voice_race as r; r.race()")
    assert json.loads(said.splitlines()[-1]) == [["made", *["voice_limit"] * 7], 1]


def test_changes_of_one_voice_at_once_are_all_kept(stack: Platform) -> None:
    said = stack.manage(
        "shell", "--no-imports", "-c", "import tests.e2e.voice_race as r; r.changes()"
    )
    assert json.loads(said.splitlines()[-1]) == [f"a{number}" for number in range(8)]
