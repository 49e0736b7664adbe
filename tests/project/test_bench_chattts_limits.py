"""The limits of `bench chattts` are reported with their aims, as far as the budget holds them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tts.engine.request import Profile
from tts.engines.base import Device
from tts.engines.chattts.backend import Precision
from tts.engines.chattts.bench import cancels, ceiling, context, crowd, memory
from tts.engines.chattts.bench.cancels import Left, State
from tts.engines.chattts.bench.ceiling import Reach
from tts.engines.chattts.bench.context import CONTEXTS, Case
from tts.engines.chattts.bench.crowd import Heard
from tts.engines.chattts.bench.memory import Loaded, Memory
from voicehost.bench.base import BenchRun, Target
from voicehost.bench.budget import Budget, Progress
from voicehost.bench.chattts_limits import Limits, limits_seconds
from voicehost.bench.machine import Machine
from voicehost.bench.playback import HOLD_BACK
from voicehost.bench.report import Report, Result

MACHINE = Machine("a processor", 2, 8.0, "Linux 6", "3.11.9", 0.5, {})
MIB = 2**20


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Step:
    """A step takes 10 ms, and 1 ms for a hundred tokens; all at 1 GB/s, ten bytes a token."""

    config, precision, token_bytes, closed = None, Precision.INT8, 10.0, 0

    def __init__(self, shards: object, profile: Profile, device: Device, rows: int) -> None:
        assert device.threads == 2

    def seconds(self, cases: list[Case], seconds: float) -> list[float]:
        return [0.010 + case.context * 1e-5 for case in cases]

    def close(self) -> None:
        Step.closed += 1


class Limit:
    """Every case could take `share` of the step's time."""

    share = 0.9

    def seconds(self, config: object, case: Case, token_bytes: float, reach: Reach) -> float:
        factor = 2.0 if reach is Reach.SAME else 1.0
        return (0.010 + case.context * 1e-5) * self.share * factor


class Crowd:
    most = 12
    closed = 0

    def __init__(
        self, shards: object, profile: Profile, device: Device, tokens: int, hold_back: float
    ) -> None:
        assert hold_back == HOLD_BACK

    def play(self, streams: int, texts: object, seconds: float) -> Heard:
        late = 0.0 if streams <= self.most else 0.1
        return Heard(streams, late, 0.25, whole=not late)

    def close(self) -> None:
        Crowd.closed += 1


LOADED = Loaded(Memory(100 * MIB, 0), Memory(350 * MIB, 0), 16, 40 * MIB)
LEFT = Left(dict.fromkeys(State, 50), 0, 0, 0, False, MIB)


def apart(work: Callable[..., object], *arguments: object) -> object:
    return LEFT if work is cancels.cancels_measure else LOADED


@pytest.fixture(autouse=True)
def parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Limits, "_shards", lambda self: None)
    monkeypatch.setattr(context, "DecodeStep", Step)
    monkeypatch.setattr(ceiling, "bandwidth_measure", lambda device: 1e9)
    monkeypatch.setattr(ceiling, "ceiling_measure", lambda *arguments: Limit())
    monkeypatch.setattr(crowd, "Crowd", Crowd)
    monkeypatch.setattr(memory, "apart", apart)
    for part in (Step, Crowd):
        monkeypatch.setattr(part, "closed", 0)


def limits(size: str = "full", seconds: float = 1_000.0, given: Path | None = None) -> Report:
    budget = Budget(seconds, Clock())
    report = Report(MACHINE)
    progress = Progress(budget, lambda line: None)
    options = {"size": size, "checkpoint": given, "device": "cpu"}
    Limits(BenchRun(Target(""), budget, progress, report, options), Path(), Device("cpu", 2)).run()
    return report


def result(report: Report, name: str) -> Result:
    (found,) = [each for each in report.results if each.name == name]
    return found


def test_every_part_is_reported_with_its_aim() -> None:
    report = limits()
    assert not report.left_out
    for profile in Profile:
        for rows in (8, 16):
            share = result(
                report, f"{profile} x{rows}, decode step, share of the machine's ceiling"
            )
            assert share.value == pytest.approx(0.9)
            assert (share.aim, share.ok) == (">= 0.8", True)
        for tokens in CONTEXTS:
            step = result(report, f"{profile} x8, step at {tokens} tokens")
            assert step.value == pytest.approx(10 + tokens / 100)
            assert step.unit == "ms"
        # 10 us a token, where 8 rows' 10 bytes at 1 GB/s take 80 ns.
        grown = result(report, f"{profile} x8, increase to 800 / reading the cache")
        assert grown.value == pytest.approx(125)
        assert (grown.aim, grown.ok) == ("<= 1.5", False)
        assert result(report, f"{profile} x8, increase to 400 / reading the cache").aim is None
        assert result(report, f"{profile}, resident of the loaded profile").value == 250
        assert result(report, f"{profile}, a slot of 16").value == 40
    streams = result(report, "realtime, streams without underrun, 200 ms held back")
    assert (streams.value, streams.aim, streams.ok) == (12, ">= 10", True)
    assert result(report, "hq, streams without underrun, 200 ms held back").aim is None
    assert (Step.closed, Crowd.closed) == (3, 3)


def test_cancels() -> None:
    report = limits()
    for what in ("slots", "rows", "utterances", "requests"):
        left = result(report, f"200 cancels, {what} left")
        assert (left.value, left.ok) == (0, True)
    grown = result(report, "200 cancels, memory grown after the first few")
    assert (grown.value, grown.unit, grown.ok) == (1, "MiB", True)


@pytest.mark.parametrize("arguments", [{"size": "tiny"}, {"given": Path("weights")}])
def test_aims_are_those_of_the_full_size(arguments: dict[str, object]) -> None:
    report = limits(**arguments)  # type: ignore[arg-type]
    assert report.results
    assert all(each.aim is None for each in report.results)


def test_a_share_that_cannot_be_meets_no_aim(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Limit, "share", 1.2)
    name = "realtime x8, decode step, share of the machine's ceiling"
    assert result(limits(), name).ok is False
    assert result(limits("tiny"), name).value == pytest.approx(1.2)


def test_too_few_streams_miss_the_aim(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Crowd, "most", 0)
    streams = result(limits(), "realtime, streams without underrun, 200 ms held back")
    assert (streams.value, streams.ok) == (0, False)


def test_streams_that_were_not_tried_to_the_end_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def some(play: object, seconds: float) -> tuple[Heard, bool]:
        return Heard(8, 0.0, 0.25, whole=True), False

    monkeypatch.setattr(crowd, "most_streams", some)
    report = limits()
    streams = result(report, "realtime, streams without underrun, 200 ms held back")
    assert (streams.value, streams.ok) == (8, None)
    assert len([line for line in report.left_out if "8 do" in line]) == 3


def test_what_the_budget_does_not_hold_is_left_out() -> None:
    report = limits(seconds=20.0)
    assert [line.split(" (")[0] for line in report.left_out] == [
        "realtime: ceiling, context",
        "standard: ceiling, context",
        "hq: ceiling, context",
        "cancels in every state",
    ]
    assert not [each for each in report.results if "share" in each.name or "cancel" in each.name]
    assert result(report, "hq, a slot of 16").value == 40


def test_what_is_to_be_kept_of_a_budget_holds_every_part() -> None:
    assert limits_seconds("tiny") < limits_seconds("full")
    assert not limits(seconds=limits_seconds("full")).left_out
