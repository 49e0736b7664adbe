"""What a benchmark is, to the command that runs it."""

from argparse import ArgumentParser
from dataclasses import dataclass
from typing import Any, Protocol

from voicehost.bench.budget import Budget, Progress
from voicehost.bench.report import Report


@dataclass(frozen=True, slots=True)
class Target:
    """The platform under test.

    `key` is a key to use as it is; "" where a tenant may be made for the run.
    `supervisor` is the process id of its `serve` and `metrics_port` where its
    web process serves metrics; 0 where unknown: what needs them is left out.
    """

    url: str
    key: str = ""
    supervisor: int = 0
    metrics_port: int = 0


@dataclass(frozen=True, slots=True)
class BenchRun:
    """What a benchmark works with."""

    target: Target
    budget: Budget
    progress: Progress
    report: Report
    options: dict[str, Any]


class Bench(Protocol):
    """One benchmark: a name on the command line, its options, its run."""

    name: str
    help: str
    seconds: float
    """The budget it has by default."""
    needs_platform: bool
    """Whether it measures a platform; else it has neither a target nor options about one."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Options beside those that every benchmark has."""

    def run(self, run: BenchRun) -> None:
        """Measure and add results to the report; raises BenchError."""
