"""`bench chattts` reports each profile at each batch, and its ratio to the original."""

import os
from io import StringIO
from pathlib import Path
from statistics import median

import pytest
from django.core.management import CommandError, call_command

from tts.engine.request import Profile
from tts.engines.base import Device
from tts.engines.chattts.backend import Precision
from tts.engines.chattts.bench import original, ours
from tts.engines.chattts.bench.pace import Pace
from voicehost.bench import chattts, chattts_own, chattts_texts
from voicehost.bench.base import BenchRun
from voicehost.bench.chattts_texts import Backlog
from voicehost.management.commands import bench as command


class Own:
    """A step takes 2.5 ms, whatever the batch; two threads take twice as long."""

    made = 0
    closed = 0

    def __init__(self, shards: object, profile: Profile, device: Device, most_rows: int) -> None:
        self.threads = device.threads
        Own.made += 1

    def speak(self, texts: list[str], tokens: int, seconds: float = 1.0) -> Pace:
        assert seconds > 0
        return self._pace(len(texts), len(texts) * tokens, tokens)

    def speak_lengths(
        self, texts: tuple[str, ...], lengths: tuple[int, ...], seconds: float
    ) -> Pace:
        assert seconds > 0
        tokens = sum(lengths)
        return self._pace(len(texts), tokens, tokens // chattts_texts.STATIC)

    def _pace(self, rows: int, tokens: int, steps: int) -> Pace:
        took = steps / 400 * self.threads
        return Pace(rows, tokens, took, took, (took / steps,) * steps, (0.1,) * rows)

    def close(self) -> None:
        Own.closed += 1


class Original:
    """A step takes 10 ms on one thread, 20 on two, up to 16 rows, and four times as long with 32.

    The GPT takes half as long in bf16, a quarter in int8.
    """

    installed = True

    def __init__(self, folder: Path, precision: Precision, device: str) -> None:
        self.threads = 0
        self.speed = {Precision.FP32: 1, Precision.BF16: 2, Precision.INT8: 4}[precision]

    @staticmethod
    def available() -> bool:
        return Original.installed

    def speak(self, texts: list[str], tokens: int, seconds: float = 1.0) -> Pace:
        assert seconds > 0
        took = tokens / 100 * max(1, self.threads) * (4 if len(texts) > 16 else 1)
        return Pace(len(texts), len(texts) * tokens, took / self.speed, took)

    def first_audio(self, text: str, tokens: int) -> float:
        return 1.0


class NoLimits:
    """Measures nothing; `threads` with which it would have."""

    threads = 0

    def __init__(self, run: BenchRun, folder: Path, device: Device) -> None:
        NoLimits.threads = device.threads

    def run(self) -> None:
        """The limits have tests of their own."""


@pytest.fixture(autouse=True)
def sides(monkeypatch: pytest.MonkeyPatch, chattts_folder: Path) -> None:
    monkeypatch.setattr(original, "OriginalSide", Original)
    monkeypatch.setattr(ours, "OwnSide", Own)
    monkeypatch.setattr(chattts, "Limits", NoLimits)
    monkeypatch.setattr(command, "_cores_limit", lambda count: None)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1})
    monkeypatch.setattr(Own, "made", 0)
    monkeypatch.setattr(Own, "closed", 0)


@pytest.fixture(scope="session")
def chattts_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tts.engines.chattts.random_checkpoint import RandomCheckpoint

    folder = tmp_path_factory.mktemp("chattts") / "tiny"
    RandomCheckpoint().write(folder)
    return folder


def bench(*arguments: str) -> str:
    output = StringIO()
    call_command("bench", "chattts", *arguments, stdout=output, stderr=StringIO())
    return output.getvalue()


def line(table: str, name: str) -> list[str]:
    """The rest of a result's line in the table."""
    (found,) = [row for row in table.splitlines() if row.startswith(f"{name}  ")]
    return found.removeprefix(name).split()


def test_every_profile_and_batch_is_there(chattts_folder: Path) -> None:
    table = bench("--checkpoint", str(chattts_folder))
    for profile in Profile:
        for rows in chattts_own.BATCHES:
            assert line(table, f"{profile} x{rows}, GPT alone") == [f"{400 * rows:,}", "tokens/s"]
            assert line(table, f"{profile} x{rows}, step p95")[:2] == ["2.50", "ms"]
        assert line(table, f"{profile} / original, x1 / one after another") == ["4", "ratio"]
        assert line(table, f"{profile} / original, first audio of one") == ["0.100", "ratio"]
    assert line(table, "original fp32, infer, one after another, GPT alone") == ["100", "tokens/s"]
    assert Own.made == Own.closed == 6
    assert NoLimits.threads == 1


def test_the_originals_best_batch_of_each_precision(chattts_folder: Path) -> None:
    table = bench("--checkpoint", str(chattts_folder))
    for profile, precision, pace in [("hq", "fp32", 1600), ("realtime", "int8", 6400)]:
        name = f"original {precision}, its best batch"
        assert line(table, f"{name}, rows") == ["16", "rows"]
        assert line(table, f"{name}, threads") == ["1", "threads"]
        assert line(table, f"{name}, GPT alone") == [f"{pace:,}", "tokens/s"]
        ratio = f"{profile} / original, GPT alone, best batch / its best {precision} batch"
        assert float(line(table, ratio)[0]) == pytest.approx(6400 / pace)
    best = "best profile / original, best batch / one after another"
    assert line(table, best) == ["64", "ratio"]


def test_mixed_lengths_beside_static_batches(chattts_folder: Path) -> None:
    table = bench("--checkpoint", str(chattts_folder))
    backlog = Backlog.lognormal(64)
    useful = sum(backlog.lengths) / (chattts_texts.STATIC * backlog.static_steps)
    ratio = float(
        line(
            table,
            "hq / original, mixed lengths / its static fp32 batches of 16, GPT alone",
        )[0]
    )
    assert ratio == pytest.approx(4 / useful, rel=0.01)


def test_a_backlog_has_few_long_texts() -> None:
    backlog = Backlog.lognormal(64)
    assert len(backlog.texts) == len(backlog.lengths) == chattts_texts.BACKLOG
    assert median(backlog.lengths) == pytest.approx(64, abs=2)
    assert max(backlog.lengths) > 3 * 64
    first, second = backlog.batches()
    assert first.lengths + second.lengths == backlog.lengths
    assert sorted(backlog.lengths) != list(backlog.lengths)
    assert backlog.static_steps == max(first.lengths) + max(second.lengths)


def test_aims_are_those_of_the_full_size(chattts_folder: Path) -> None:
    assert ">=" not in bench("--size", "tiny")
    assert ">=" not in bench("--checkpoint", str(chattts_folder))


def test_without_the_original(monkeypatch: pytest.MonkeyPatch, chattts_folder: Path) -> None:
    monkeypatch.setattr(Original, "installed", False)
    table = bench("--checkpoint", str(chattts_folder))
    assert "original" not in table
    assert line(table, "hq x4, GPT alone") == ["1,600", "tokens/s"]


def test_the_original_needs_72_tokens_to_be_heard() -> None:
    with pytest.raises(CommandError, match="--tokens must be at least 96"):
        bench("--tokens", "50")


def test_a_folder_that_is_no_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"Decoder\.safetensors|asset"):
        bench("--checkpoint", str(tmp_path))
