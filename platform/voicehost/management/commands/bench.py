"""`manage.py bench NAME`: measure, print a table, and say whether the aims are met."""

import os
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from voicehost.bench.base import Bench, BenchRun, Target
from voicehost.bench.budget import Budget, Progress
from voicehost.bench.catalogue import BENCHES
from voicehost.bench.errors import BenchError, BudgetSpent
from voicehost.bench.machine import Machine
from voicehost.bench.report import Report
from voicehost.bench.stack import MANAGE, START_SECONDS, Stack, stack_running

EXIT_MISSED = 1
AROUND_SECONDS = 10.0
"""What is kept of the budget to start this program a second time and to stop the platform."""


class Command(BaseCommand):
    """Where one is needed, starts a platform in a temporary folder, unless `--url` names one.

    Exit codes: 0, or 1 with `--strict` when an aim is missed and for errors.
    """

    help = "Benchmarks on this machine; each keeps to a time budget."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """A subcommand for each benchmark."""
        subparsers = parser.add_subparsers(dest="bench", required=True)
        for bench in BENCHES:
            sub = subparsers.add_parser(bench.name, help=bench.help, description=bench.help)
            _common_arguments(sub, bench)
            bench.add_arguments(sub)

    def handle(self, *args: Any, **options: Any) -> None:
        """Run one."""
        bench = next(each for each in BENCHES if each.name == options["bench"])
        _cores_limit(options["cores"])
        try:
            if not bench.needs_platform or options["url"]:
                code = self._measure(bench, options)
            else:
                code = self._with_own_platform(options)
        except BenchError as error:
            raise CommandError(str(error)) from error
        if code:
            sys.exit(code)

    def _with_own_platform(self, options: dict[str, Any]) -> int:
        """Start a platform and run this command again inside its environment."""
        budget = Budget(options["budget"])
        progress = Progress(budget, self._progress)
        progress.part("starting a platform of its own", needs=AROUND_SECONDS)
        start_seconds = min(START_SECONDS, budget.left - AROUND_SECONDS)
        with (
            tempfile.TemporaryDirectory(prefix="voicehost-bench-") as folder,
            stack_running(Path(folder) / "var", start_seconds=start_seconds) as stack,
        ):
            try:
                return subprocess.run(  # noqa: S603 - this very program
                    [sys.executable, MANAGE, *sys.argv[1:], *_stack_arguments(stack, budget)],
                    env=dict(stack.environment),
                    timeout=budget.left,
                    check=False,
                ).returncode
            except subprocess.TimeoutExpired as error:
                raise BudgetSpent(f"the {budget.seconds:.0f} s are spent") from error

    def _measure(self, bench: Bench, options: dict[str, Any]) -> int:
        budget = Budget(options["budget"])
        budget.use(options.get("spent", 0.0))
        run = BenchRun(
            target=_target(options) if bench.needs_platform else Target(url=""),
            budget=budget,
            progress=Progress(budget, self._progress),
            report=Report(Machine.read()),
            options=options,
        )
        try:
            bench.run(run)
        except BudgetSpent as error:
            run.report.left_out.append(str(error))
        run.progress.say("done")
        self.stdout.write(run.report.table())
        if options["json"]:
            run.report.write(options["json"])
        missed = run.report.missed
        if missed:
            names = ", ".join(result.name.strip() for result in missed)
            self.stdout.write(self.style.WARNING(f"\nAims missed: {names}"))
        # What was not measured has not met its aim either.
        return EXIT_MISSED if (missed or run.report.left_out) and options["strict"] else 0

    def _progress(self, line: str) -> None:
        self.stderr.write(line)


def _common_arguments(parser: ArgumentParser, bench: Bench) -> None:
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there")
    parser.add_argument("--strict", action="store_true", help="exit 1 when an aim is missed")
    parser.add_argument(
        "--budget", type=float, default=bench.seconds, help="seconds for all of it (%(default)g)"
    )
    parser.add_argument(
        "--cores", type=int, default=2, help="cores for all that is measured and measures (2)"
    )
    if bench.needs_platform:
        _platform_arguments(parser)


def _platform_arguments(parser: ArgumentParser) -> None:
    running = parser.add_argument_group(
        "a running platform",
        "Without --key, run with that platform's environment (VAR_DIR, DATABASE_URL, REDIS_URL): "
        "a tenant is made for the run, and removed.",
    )
    running.add_argument("--url", help="its address; without it a platform is started")
    running.add_argument(
        "--key", default="", help="an API key to use; its limits hold, and no crowd is let in"
    )
    running.add_argument(
        "--supervisor", type=int, default=0, help="process id of its `serve`, to see memory"
    )
    running.add_argument(
        "--metrics-port", type=int, default=0, help="where its web process serves metrics"
    )
    running.add_argument("--spent", type=float, default=0.0, help="seconds of the budget used")


def _target(options: dict[str, Any]) -> Target:
    return Target(options["url"], options["key"], options["supervisor"], options["metrics_port"])


def _stack_arguments(stack: Stack, budget: Budget) -> list[str]:
    return [
        f"--url={stack.url}",
        f"--supervisor={stack.supervisor}",
        f"--metrics-port={stack.metrics_port}",
        f"--budget={budget.seconds - AROUND_SECONDS:.1f}",
        f"--spent={budget.spent:.1f}",
    ]


def _cores_limit(count: int) -> None:
    """Bind this process, and with it all that it starts, to `count` cores."""
    if not hasattr(os, "sched_setaffinity"):
        return
    cores = sorted(os.sched_getaffinity(0))
    if count < 1:
        raise CommandError(f"--cores must be at least 1, not {count}")
    os.sched_setaffinity(0, cores[:count])
