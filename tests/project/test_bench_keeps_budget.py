"""Every benchmark ends within its budget: what it does not hold is left out, and said so."""

import asyncio
import json
import math
import os
from argparse import ArgumentParser
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from tts.engine.request import Profile
from tts.engines.chattts.bench import numeric, original, ours
from tts.engines.chattts.bench.numeric import NumericError
from tts.engines.chattts.bench.pace import Pace
from voicehost.bench import chattts, overhead
from voicehost.bench.base import BenchRun, Target
from voicehost.bench.budget import Budget, Progress
from voicehost.bench.catalogue import BENCHES
from voicehost.bench.chattts import ChatTtsBench
from voicehost.bench.chattts_error import ChatTtsErrorBench
from voicehost.bench.chattts_limits import limits_seconds
from voicehost.bench.client import Spoken
from voicehost.bench.crowd import CrowdFigures
from voicehost.bench.errors import BudgetSpent
from voicehost.bench.guest import Guest
from voicehost.bench.listeners import Heard, Scene, Spread
from voicehost.bench.machine import Machine
from voicehost.bench.overhead import Overhead
from voicehost.bench.report import Report
from voicehost.bench.sides import CONCURRENCY, Case, Round, Rounds, Speak
from voicehost.management.commands import bench as command

MACHINE = Machine("a processor", 2, 8.0, "Linux 6", "3.11.9", 0.5, {})
SPREAD = Spread(0.0, 0.0, 0.0)
SPOKEN = Spoken(first_audio=0.1, total=0.5, audio_seconds=4.0, timings={})


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def run_of(clock: Clock, seconds: float, **options: object) -> BenchRun:
    budget = Budget(seconds, clock)
    progress = Progress(budget, lambda line: None)
    return BenchRun(Target("http://127.0.0.1:1"), budget, progress, Report(MACHINE), options)


# -- the budget itself ---------------------------------------------------------------


async def test_work_that_ends_in_time_gives_its_result(clock: Clock) -> None:
    async def work() -> int:
        return 7

    assert await Budget(60, clock).within(work()) == 7


async def test_work_is_cancelled_when_nothing_is_left(clock: Clock) -> None:
    ended: list[str] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cleaned up")

    budget = Budget(60, clock)
    clock.now += 60
    with pytest.raises(BudgetSpent, match="60 s"):
        await budget.within(work())
    assert ended == ["cleaned up"]


async def test_a_timeout_of_the_work_itself_stays_one(clock: Clock) -> None:
    async def work() -> None:
        raise TimeoutError("its own")

    with pytest.raises(TimeoutError, match="its own"):
        await Budget(60, clock).within(work())


def test_a_part_begins_only_where_it_fits(clock: Clock) -> None:
    lines: list[str] = []
    progress = Progress(Budget(60, clock), lines.append)
    progress.part("first", needs=50)
    clock.now += 20
    with pytest.raises(BudgetSpent, match=r"second \(it takes about 50 s, and 40 s are left\)"):
        progress.part("second", needs=50)
    clock.now += 40
    with pytest.raises(BudgetSpent, match="third"):
        progress.part("third")
    assert lines == ["[  0.0 of 60 s] first"]


# -- bench overhead ------------------------------------------------------------------


@pytest.fixture
def overhead_parts(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts that take all of the time that they get, and at least what they need."""

    class FakeSides:
        def __init__(self, engine: object, address: object) -> None:
            """Nothing to connect."""

        async def warm_up(self, case: Case, text: str) -> None:
            clock.now += 1

        async def both(self, case: Case, texts: Sequence[str]) -> tuple[Speak, Speak]:
            async def speak(text: str) -> Spoken:
                return SPOKEN

            return speak, speak

        def close(self) -> None:
            """Nothing to close."""

    @asynccontextmanager
    async def engine_side(lanes: int, profiles: object) -> AsyncIterator[None]:
        clock.now += overhead.LOAD_SECONDS - 1
        yield

    async def pairs_speak(*arguments: object) -> list[tuple[Spoken, Spoken]]:
        budget = arguments[-1]
        assert isinstance(budget, Budget)
        clock.now += max(budget.left, overhead.FIRST_AUDIO_SECONDS - 1)
        return [(SPOKEN, SPOKEN)]

    async def rounds_speak(
        sides: object, texts: object, count: int, budget: Budget, meanwhile: object
    ) -> tuple[Rounds, Rounds]:
        full = count == CONCURRENCY
        least = overhead.FULL_SECONDS if full else overhead.HIBARI_SECONDS
        clock.now += max(budget.left, least - 2)
        rounds = Rounds([Round(1.0, 0.5, (SPOKEN,))])
        return rounds, rounds

    async def crowd_listen(scene: Scene, target: Target) -> CrowdFigures:
        clock.now += scene.most_seconds
        heard = Heard(200, 0, SPREAD, SPREAD, 1, 1, 0, SPREAD, SPREAD)
        return CrowdFigures(heard, math.nan, 0.0, 0.0, {}, 1.0)

    monkeypatch.setattr(overhead, "Sides", FakeSides)
    monkeypatch.setattr(overhead, "segments_of", lambda text: ())
    for fake in (engine_side, pairs_speak, rounds_speak, crowd_listen):
        monkeypatch.setattr(overhead, fake.__name__, fake)


PARTS = {
    "first audio": "first audio, platform, median",
    "hibari": "hibari x8, platform",
    "full Kokoro": "full Kokoro x8, platform",
    "crowd": "200 streams, complete",
}


@pytest.mark.usefixtures("overhead_parts")
@pytest.mark.parametrize(
    ("seconds", "measured"),
    [
        (16, []),
        (30, ["first audio"]),
        (55, ["first audio", "hibari"]),
        (70, ["first audio", "hibari", "full Kokoro"]),
        (180, list(PARTS)),
        (400, list(PARTS)),
    ],
)
async def test_overhead_measures_what_its_budget_holds(
    clock: Clock, seconds: float, measured: list[str]
) -> None:
    run = run_of(clock, seconds, only=None, streams=200, sockets=2000)
    clock.now += 15  # what the start of a platform took
    guest = Guest("vh_k", "realtime", "standard", "tone")
    try:
        await Overhead(run, guest).run()
    except BudgetSpent as error:
        run.report.left_out.append(str(error))
    assert run.budget.spent <= seconds
    names = {result.name for result in run.report.results}
    assert [part for part, name in PARTS.items() if name in names] == measured
    assert bool(run.report.left_out) == (len(measured) < len(PARTS))


# -- bench chattts -------------------------------------------------------------------


@pytest.fixture
def chattts_sides(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sides that take as long as they may."""

    def pace(texts: list[str], tokens: int, seconds: float) -> Pace:
        seconds = max(seconds, 0.5)
        clock.now += seconds
        many = len(texts) * tokens
        return Pace(len(texts), many, seconds, seconds, (0.1,) * tokens, (0.1,) * len(texts))

    class Own:
        def __init__(self, *arguments: object) -> None:
            clock.now += 1

        def speak(self, texts: list[str], tokens: int, seconds: float = 1.0) -> Pace:
            return pace(texts, tokens, seconds)

        def speak_lengths(self, texts: list[str], lengths: tuple[int, ...], seconds: float) -> Pace:
            return pace(texts, sum(lengths) // len(lengths), seconds)

        def close(self) -> None:
            """Nothing to free."""

    class Original:
        threads = 1

        def __init__(self, folder: Path, precision: object, device: str) -> None:
            clock.now += 2

        @staticmethod
        def available() -> bool:
            return True

        def speak(
            self, texts: list[str], tokens: int, seconds: float = MIXED_BATCH_SECONDS
        ) -> Pace:
            return pace(texts, tokens, min(seconds, MIXED_BATCH_SECONDS))

        def first_audio(self, text: str, tokens: int) -> float:
            clock.now += 2
            return 1.0

    class Limits:
        def __init__(self, run: BenchRun, folder: Path, device: object) -> None:
            self.progress = run.progress

        def run(self) -> None:
            needs = limits_seconds("tiny")
            self.progress.part("limits", needs=needs)
            clock.now += needs

    monkeypatch.setattr(original, "OriginalSide", Original)
    monkeypatch.setattr(ours, "OwnSide", Own)
    monkeypatch.setattr(chattts, "Limits", Limits)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1})


LONGEST_PART = 12.0
"""Both trials of a profile, which do not ask how much is left."""
MIXED_BATCH_SECONDS = 5.0
"""What a static batch that nothing cuts short takes."""


@pytest.mark.usefixtures("chattts_sides")
@pytest.mark.parametrize("seconds", [15.0, 40.0, 150.0, 600.0])
def test_chattts_ends_in_time(clock: Clock, tmp_path: Path, seconds: float) -> None:
    from tts.engines.chattts.random_checkpoint import RandomCheckpoint

    folder = tmp_path / "tiny"
    RandomCheckpoint().write(folder)
    run = run_of(clock, seconds, tokens=128, size="tiny", checkpoint=folder, device="cpu")
    try:
        ChatTtsBench().run(run)
    except BudgetSpent as error:
        run.report.left_out.append(str(error))
    assert run.budget.spent <= seconds + LONGEST_PART
    assert bool(run.report.left_out) == (seconds < 600)


@pytest.mark.parametrize(
    ("seconds", "profiles"), [(4.0, 0), (6.0, 0), (13.0, 1), (18.0, 2), (60.0, 3)]
)
def test_chattts_error_ends_in_time(
    clock: Clock,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    seconds: float,
    profiles: int,
) -> None:
    from tts.engines.chattts.random_checkpoint import RandomCheckpoint

    class Errors:
        def __init__(self, *arguments: object, threads: int) -> None:
            clock.now += 5

        def of(self, profile: Profile) -> NumericError:
            clock.now += 5
            return NumericError(0.01, 0.1, 1.0, 0.0, 0.01, 0.01)

    monkeypatch.setattr(numeric, "NumericErrors", Errors)
    RandomCheckpoint().write(tmp_path)
    run = run_of(clock, seconds, tokens=16, size="tiny", checkpoint=tmp_path)
    try:
        ChatTtsErrorBench().run(run)
    except BudgetSpent as error:
        run.report.left_out.append(str(error))
    assert run.budget.spent <= seconds
    assert len(run.report.results) == 6 * profiles
    assert bool(run.report.left_out) == (profiles < 3)


def test_no_benchmark_is_forgotten_here() -> None:
    assert {each.name for each in BENCHES} == {"overhead", "chattts", "chattts-error"}


# -- the command ---------------------------------------------------------------------


class Spent:
    """A benchmark that finds one result, and no time for another."""

    name = "spent"
    help = "an example"
    seconds = 30.0
    needs_platform = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        """None."""

    def run(self, run: BenchRun) -> None:
        run.report.add("speed", 10.0, "ms", "<= 15")
        run.progress.part("the crowd", needs=1_000)


def test_what_was_left_out_is_in_table_and_json_and_fails_when_strict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "BENCHES", (Spent(),))
    monkeypatch.setattr(command, "_cores_limit", lambda count: None)
    file, output = tmp_path / "results.json", StringIO()
    arguments = ("bench", "spent", "--json", str(file))
    call_command(*arguments, stdout=output, stderr=StringIO())
    assert "speed" in output.getvalue()
    assert "Left out, since the budget does not hold it: the crowd" in output.getvalue()
    (left_out,) = json.loads(file.read_text())["left_out"]
    assert left_out.startswith("the crowd (it takes about 1000 s")
    with pytest.raises(SystemExit) as ended:
        call_command(*arguments, "--strict", stdout=StringIO(), stderr=StringIO())
    assert ended.value.code == 1
