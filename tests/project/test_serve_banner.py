"""What `serve` prints once the platform can speak, and what a stop meanwhile does."""

import asyncio
import io
import json
import re
from dataclasses import replace

import pytest

from voicehost import banner
from voicehost.env import environment_read
from voicehost.management.commands import serve
from voicehost.supervisor.supervisor import Supervisor


async def test_it_tells_the_addresses_and_a_line_that_speaks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = iter([(0, "refused"), (503, "not yet"), (200, "ready")])
    monkeypatch.setattr(banner, "readiness_ask", lambda host, port, name: next(answers))
    monkeypatch.setattr(banner, "LOOK_SECONDS", 0.0)
    text = await banner.banner(environment_read(), ["*"])
    assert "Voicehost is ready." in text
    assert "curl -s http://" in text
    # What is printed to be copied is answered at once, also by a platform that has just started.
    (asked,) = re.findall(r"-d '(.*)'", text)
    assert json.loads(asked)["input"].isascii()
    assert list(answers) == []


async def test_it_asks_for_a_host_that_production_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []

    def ask(host: str, port: int, name: str) -> tuple[int, str]:
        asked.append((host, name))
        return 200, "ready"

    monkeypatch.setattr(banner, "readiness_ask", ask)
    environment = replace(environment_read(), host="0.0.0.0", port=8120)
    text = await banner.banner(environment, ["speech.example", "other.example"])
    assert asked == [("127.0.0.1", "speech.example")]
    assert "https://speech.example/admin/" in text
    assert 'http://127.0.0.1:8120/v1/audio/speech -H "Host: speech.example"' in text


async def test_it_says_so_when_the_platform_does_not_get_ready(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(banner, "readiness_ask", lambda host, port, name: (503, "not yet"))
    monkeypatch.setattr(banner, "READY_TIMEOUT", 0.05)
    assert "cannot speak yet" in await banner.banner(environment_read(), ["*"])


async def test_a_stop_while_it_gets_ready_waits_for_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The platform never gets ready; the supervisor ends, and with it the command."""

    async def run(self: Supervisor, stop: asyncio.Event, ready: asyncio.Event) -> None:
        ready.set()
        await asyncio.sleep(0)

    monkeypatch.setattr(Supervisor, "run", run)
    monkeypatch.setattr(banner, "readiness_ask", lambda host, port, name: (503, "not yet"))
    output = io.StringIO()
    async with asyncio.timeout(10):
        await serve.Command(stdout=output)._serve("")
    assert output.getvalue() == ""


async def test_it_is_told_at_once_also_where_nobody_reads_a_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(banner, "readiness_ask", lambda host, port, name: (200, "ready"))
    ready = asyncio.Event()
    ready.set()
    told = io.BytesIO()
    command = serve.Command(stdout=io.TextIOWrapper(told, encoding="utf-8"))
    await command._tell(ready)
    assert b"Voicehost is ready." in told.getvalue()
