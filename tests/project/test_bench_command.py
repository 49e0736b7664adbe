"""`manage.py bench` writes what was asked for and fails where an aim is missed, if told to."""

import json
from argparse import ArgumentParser
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from voicehost.bench.base import BenchRun
from voicehost.bench.errors import RequestFailed
from voicehost.management.commands import bench as command


class Example:
    """Finds one result, or fails."""

    name = "example"
    help = "an example"
    seconds = 30.0
    needs_platform = True

    def __init__(self) -> None:
        self.value = 10.0
        self.error = ""
        self.runs: list[BenchRun] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--size", type=int, default=1)

    def run(self, run: BenchRun) -> None:
        self.runs.append(run)
        if self.error:
            raise RequestFailed(self.error)
        run.report.add("speed", self.value, "ms", "<= 15")


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Example:
    found = Example()
    monkeypatch.setattr(command, "BENCHES", (found,))
    monkeypatch.setattr(command, "_cores_limit", lambda count: None)
    return found


def bench(*arguments: str) -> str:
    output = StringIO()
    url = "--url=http://127.0.0.1:1"
    call_command("bench", "example", url, *arguments, stdout=output, stderr=StringIO())
    return output.getvalue()


def test_a_table_is_printed(example: Example) -> None:
    output = bench("--size", "3", "--key", "vh_k", "--budget", "12", "--spent", "2")
    assert "speed" in output
    assert "<= 15" in output
    (run,) = example.runs
    assert run.options["size"] == 3
    assert (run.target.url, run.target.key) == ("http://127.0.0.1:1", "vh_k")
    assert run.budget.seconds == 12
    assert 2 <= run.budget.spent < 12


def test_results_are_written_as_json(example: Example, tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    bench("--json", str(file))
    results = json.loads(file.read_text())["results"]
    assert results == [{"name": "speed", "value": 10.0, "unit": "ms", "aim": "<= 15", "ok": True}]


def test_a_missed_aim_fails_only_when_strict(example: Example) -> None:
    example.value = 20.0
    assert "Aims missed: speed" in bench()
    with pytest.raises(SystemExit) as ended:
        bench("--strict")
    assert ended.value.code == 1


def test_met_aims_are_a_success_when_strict(example: Example) -> None:
    assert "missed" not in bench("--strict")


def test_an_error_is_one_sentence(example: Example) -> None:
    example.error = "HTTP 401: no"
    with pytest.raises(CommandError, match="HTTP 401: no"):
        bench()


def test_a_benchmark_of_no_platform_starts_none(
    example: Example, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Example, "needs_platform", False)
    output = StringIO()
    call_command("bench", "example", "--budget", "9", stdout=output, stderr=StringIO())
    assert "speed" in output.getvalue()
    assert example.runs[0].target.url == ""
    with pytest.raises(CommandError, match="unrecognized arguments"):
        bench()
