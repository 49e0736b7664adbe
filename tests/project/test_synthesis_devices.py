"""SYNTHESIS_DEVICES: a worker for each CUDA device, and clear words where there is none."""

from dataclasses import replace

import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command

from voicehost.env import environment_read
from voicehost.supervisor.plan import plan_make


def devices_planned(devices: tuple[str, ...], workers: int = 1) -> list[str]:
    environment = replace(
        settings.ENVIRONMENT, synthesis_devices=devices, synthesis_workers=workers
    )
    plan = plan_make(environment, redis_url="redis://nowhere", web_fd=3)
    return [spec.argv[spec.argv.index("--device") + 1] for spec in plan.workers]


def test_workers_share_the_cpu() -> None:
    assert devices_planned(("cpu",), workers=2) == ["cpu", "cpu"]


def test_each_cuda_device_has_one_worker() -> None:
    assert devices_planned(("cuda:0", "cuda:1"), workers=2) == ["cuda:0", "cuda:1"]
    assert devices_planned(("cuda:0", "cpu"), workers=2) == ["cuda:0", "cpu", "cpu"]


def test_devices_are_read_by_their_full_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYNTHESIS_DEVICES", "cuda, cuda:1")
    assert environment_read().synthesis_devices == ("cuda:0", "cuda:1")
    monkeypatch.delenv("SYNTHESIS_DEVICES")
    assert environment_read().synthesis_devices == ("cpu",)


@pytest.mark.parametrize("value", ["gpu", "cuda:0,cuda", "cpu,cpu"])
def test_what_names_no_devices_is_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("SYNTHESIS_DEVICES", value)
    with pytest.raises(ImproperlyConfigured, match="SYNTHESIS_DEVICES"):
        environment_read()


def test_a_worker_for_a_device_that_is_not_here_says_so() -> None:
    with pytest.raises(CommandError, match="cuda:99 was asked for"):
        call_command("run_synthesizer", device="cuda:99")
