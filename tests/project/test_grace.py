"""GRACE_SECONDS is the grace of every process, and `serve` kills none before it is over."""

import asyncio
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from django.core.management import call_command
from pytest_django import Settings

from tts.consumers import batching
from tts.consumers.worker import build
from voicehost.env import environment_read
from voicehost.management.commands import run_synthesizer, run_web
from voicehost.server.config import WebConfig
from voicehost.supervisor.plan import KILL_MARGIN_SECONDS, plan_make

GRACE = 7


@pytest.fixture(autouse=True)
def grace(settings: Settings) -> None:
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, grace_seconds=GRACE, metrics_port=0)


def test_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRACE_SECONDS", raising=False)
    assert environment_read().grace_seconds == 20
    monkeypatch.setenv("GRACE_SECONDS", "45")
    assert environment_read().grace_seconds == 45


@pytest.mark.parametrize("server", ["daphne", "uvicorn"])
def test_web_has_it(monkeypatch: pytest.MonkeyPatch, server: str) -> None:
    ran: list[WebConfig] = []
    monkeypatch.setattr(run_web, f"_run_{server}", ran.append)
    call_command("run_web", server=server, fd=3, skip_checks=True)
    assert [config.grace_seconds for config in ran] == [GRACE]


@pytest.fixture
def process_kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What the worker's command changes for its process is put back."""
    for name in run_synthesizer.THREAD_VARIABLES:
        monkeypatch.setenv(name, "1")
    interval = sys.getswitchinterval()
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("process_kept")
def test_worker_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    graces: list[float] = []

    class Consumer:
        async def run(self, stop: asyncio.Event, *, grace: float) -> None:
            graces.append(grace)

    def consumer_build(*args: Any, **options: Any) -> Consumer:
        return Consumer()

    monkeypatch.setattr(build, "consumer_build", consumer_build)
    call_command("run_synthesizer", device="cpu")
    assert graces == [GRACE]


def test_no_process_is_killed_before_it_is_over(settings: Settings) -> None:
    plan = plan_make(settings.ENVIRONMENT, redis_url="redis://nowhere", web_fd=3)
    specs = plan.workers + plan.celery + plan.web
    assert {spec.stop_seconds for spec in specs} == {GRACE + KILL_MARGIN_SECONDS}


def test_a_worker_lets_go_before_it_is_killed() -> None:
    letting_go = batching.DRAIN_SLACK_SECONDS + batching.FLUSH_SECONDS + batching.CORE_STOP_SECONDS
    assert letting_go < KILL_MARGIN_SECONDS
