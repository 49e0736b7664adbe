"""A report is a table for people and JSON for machines, and knows which aims are missed."""

import json
import math

import pytest

from voicehost.bench.errors import AimInvalid
from voicehost.bench.machine import Machine
from voicehost.bench.report import Aim, Report, number

MACHINE = Machine("a processor", 2, 8.0, "Linux 6", "3.11.9", 0.5, {"daphne": "4.2.3"})


@pytest.fixture
def report() -> Report:
    return Report(MACHINE)


def test_results_become_json(report: Report) -> None:
    report.add("first audio", 12.5, "ms", "<= 15")
    report.add("throughput", 0.8, "ratio", ">= 0.9")
    report.add("pairs", 40, "pairs")
    written = json.loads(report.to_json())
    assert written["machine"]["processor"] == "a processor"
    assert written["machine"]["packages"] == {"daphne": "4.2.3"}
    assert written["results"] == [
        {"name": "first audio", "value": 12.5, "unit": "ms", "aim": "<= 15", "ok": True},
        {"name": "throughput", "value": 0.8, "unit": "ratio", "aim": ">= 0.9", "ok": False},
        {"name": "pairs", "value": 40, "unit": "pairs", "aim": None, "ok": None},
    ]


def test_table_has_a_line_for_each_result(report: Report) -> None:
    report.add("first audio", 12.5, "ms", "<= 15")
    report.add("throughput", 0.8, "ratio", ">= 0.9")
    machine, _, head, rule, *lines = report.table().splitlines()
    assert machine.startswith("a processor, 2 cores, 8 GiB")
    assert head.split() == ["value", "unit", "aim", "met"]
    assert set(rule) == {"-"}
    assert [line.split()[-1] for line in lines] == ["yes", "NO"]


def test_missed_aims_are_listed(report: Report) -> None:
    report.add("good", 1, "ms", "<= 1")
    report.add("bad", 1.01, "ms", "<= 1")
    report.add("no aim", 99, "ms")
    assert [result.name for result in report.missed] == ["bad"]


def test_what_could_not_be_measured_misses_its_aim_and_is_null(report: Report) -> None:
    report.add("lag", math.nan, "ms", "<= 20")
    assert report.missed
    assert json.loads(report.to_json())["results"][0]["value"] is None
    assert " - " in report.table()


@pytest.mark.parametrize("text", ["15", "< 15", "<= fifteen", "<=15", "<= 15 ms", ""])
def test_aim_is_a_sign_and_a_number(text: str) -> None:
    with pytest.raises(AimInvalid, match="an aim is"):
        Aim.parse(text)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0, "0"), (3, "3"), (0.8762, "0.876"), (12.345, "12.3"), (345.6, "346"),
     (12345.6, "12,346"), (0.00012345, "0.000123"), (-2.5, "-2.50")],
)  # fmt: skip
def test_three_digits_are_shown(value: float, shown: str) -> None:
    assert number(value) == shown


def test_this_machine_can_be_read() -> None:
    machine = Machine.read()
    assert machine.cores >= 1
    assert machine.packages["daphne"]
    assert "Python 3." in str(machine)
