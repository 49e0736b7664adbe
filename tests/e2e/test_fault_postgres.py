"""PostgreSQL away under a running platform: stopped, or ending and refusing all connections."""

import http.client
import json
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import redis

from tests.e2e.long_speech import CHARACTER_SECONDS, RATE, long_tone_make, speech_asked
from tests.e2e.pair import until
from tests.e2e.platform import Platform, platform_running
from tests.e2e.postgres_server import PostgresServer, postgres_running
from tests.e2e.without_voices import python_path_without_voices

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("postgres"), pytest.mark.timeout(240)]

OUTAGE_SECONDS = 8.0
"""Long enough for whatever looks at the database now and then: Celery's beat does every 5 s."""
TEXT = "this is spoken from before the outage to after it"
COST_MS = 300.0
"""Half a second of it takes that long: the whole text about half a minute."""
RECOVERY_SECONDS = 2.0
PROGRAMS = ("run_web", "run_synthesizer", "voicehost.celery worker", "voicehost.celery beat")


@dataclass
class Answer:
    """A response whose body is JSON, or audio where `body` is None."""

    status: int
    body: Any
    retry_after: str | None

    @property
    def code(self) -> str:
        """The error's code."""
        return str(self.body["error"]["code"])


@dataclass
class Outage:
    """What clients saw while PostgreSQL was away, and afterwards."""

    known: Answer
    unknown: Answer
    forgotten: Answer
    models: Answer
    readiness: Answer
    alive: Answer
    recovered_after: float = 0.0
    ready_again: bool = False
    streamed_bytes: int = 0
    processes: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))
    log: str = ""


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with postgres_running() as running:
        yield running


@pytest.fixture(scope="module")
def platform(
    server: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Platform]:
    folder = tmp_path_factory.mktemp("postgres")
    with platform_running(
        folder / "var",
        DATABASE_URL=server.url,
        OMP_NUM_THREADS="1",
        PYTHONPATH=python_path_without_voices(folder / "python"),
    ) as running:
        long_tone_make(running, cost_ms=COST_MS)
        until(lambda: _speak(running, "long", "a").status == 200)
        yield running


@pytest.fixture(scope="module", params=["stopped", "refusing"])
def outage(request: pytest.FixtureRequest, platform: Platform, server: PostgresServer) -> Outage:
    if request.param == "stopped":
        return _go_through(platform, server.stop, server.start)
    return _go_through(platform, server.refuse, server.admit)


def _go_through(platform: Platform, begin: Callable[[], None], end: Callable[[], None]) -> Outage:
    before = _processes(platform)
    stream = speech_asked(platform, "long", TEXT)
    response = stream.getresponse()
    heard = response.read1()
    assert heard
    begin()
    began = time.monotonic()
    outage = _ask_everything(platform)
    time.sleep(max(0.0, began + OUTAGE_SECONDS - time.monotonic()))
    end()
    began = time.monotonic()
    until(lambda: _speak(platform, "tts-1", "again").status == 200)
    outage.recovered_after = time.monotonic() - began
    outage.ready_again = _get(platform, "/readyz").status == 200
    outage.streamed_bytes = len(heard) + len(response.read())
    stream.close()
    outage.processes = (before, _processes(platform))
    outage.log = (platform.var_dir / "serve.log").read_text()
    return outage


def _ask_everything(platform: Platform) -> Outage:
    known = _speak(platform, "long", "b")
    unknown = _speak(platform, "long", "c", key=_another(platform.key))
    # As after a change of configuration: nothing that was read before counts.
    with redis.Redis.from_url((platform.var_dir / "run" / "redis.url").read_text()) as client:
        client.set("vh:epoch", secrets.token_hex(8))
    time.sleep(0.5)
    return Outage(
        known=known,
        unknown=unknown,
        forgotten=_speak(platform, "long", "d"),
        models=_get(platform, "/v1/models"),
        readiness=_get(platform, "/readyz"),
        alive=_get(platform, "/healthz"),
    )


def test_what_is_known_is_spoken(outage: Outage) -> None:
    assert outage.known.status == 200
    assert outage.alive.status == 200


@pytest.mark.parametrize("which", ["unknown", "forgotten", "models"])
def test_what_must_be_read_is_refused_with_when_to_come_back(outage: Outage, which: str) -> None:
    answer: Answer = getattr(outage, which)
    assert (answer.status, answer.code) == (503, "overloaded")
    assert answer.retry_after == "1"


def test_readiness_tells_it(outage: Outage) -> None:
    assert outage.readiness.status == 503
    checks = outage.readiness.body["checks"]
    assert checks["database"] == "failed: OperationalError"
    assert checks["redis"] == "ok"


def test_a_stream_that_runs_goes_on_to_its_end(outage: Outage) -> None:
    seconds = outage.streamed_bytes / 2 / RATE
    assert seconds == pytest.approx(len(TEXT) * CHARACTER_SECONDS, abs=0.5)


def test_requests_succeed_soon_after_it(outage: Outage) -> None:
    assert outage.recovered_after < RECOVERY_SECONDS
    assert outage.ready_again


def test_no_process_ends(outage: Outage) -> None:
    before, after = outage.processes
    assert len(before) >= len(PROGRAMS)
    assert before == after
    assert "process_ended" not in outage.log


def test_ended_connections_are_replaced(platform: Platform, server: PostgresServer) -> None:
    """As after a fail-over, or an administrator's restart that nobody noticed."""
    before = _processes(platform)
    stream = speech_asked(platform, "long", TEXT)
    response = stream.getresponse()
    heard = len(response.read1())
    ended = 0
    while heard < RATE:
        ended += server.connections_end()
        assert _get(platform, "/v1/models").status == 200
        assert _get(platform, "/readyz").status == 200
        assert _speak(platform, "long", "a", key=_another(platform.key)).status == 401
        heard += len(response.read1())
    heard += len(response.read())
    stream.close()
    assert ended
    assert heard / 2 / RATE == pytest.approx(len(TEXT) * CHARACTER_SECONDS, abs=0.5)
    assert _processes(platform) == before


def _another(key: str) -> str:
    """A key of the same form that nobody has asked for: that a key is unknown is remembered."""
    return key[:-8] + secrets.token_hex(4)


def _processes(platform: Platform) -> list[int]:
    return [pid for name in PROGRAMS for pid in platform.processes(name)]


def _speak(platform: Platform, model: str, text: str, *, key: str = "") -> Answer:
    return _answer(speech_asked(platform, model, text, key=key))


def _get(platform: Platform, path: str) -> Answer:
    connection = http.client.HTTPConnection(platform.host, platform.port, timeout=30)
    connection.request("GET", path, headers={"Authorization": f"Bearer {platform.key}"})
    return _answer(connection)


def _answer(connection: http.client.HTTPConnection) -> Answer:
    try:
        response = connection.getresponse()
        body = response.read()
        is_json = response.headers["content-type"].startswith("application/json")
        return Answer(
            response.status, json.loads(body) if is_json else None, response.headers["retry-after"]
        )
    finally:
        connection.close()
