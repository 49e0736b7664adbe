"""`bench chattts` reports each profile at each batch, and its ratio to the original."""

import itertools
import os
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from tts.engine.request import Profile
from tts.engines.chattts.bench import original, ours
from tts.engines.chattts.bench.pace import Pace
from voicehost.bench import chattts
from voicehost.management.commands import bench as command


class Own:
    """Four times as fast as `Original`, whatever the batch; counts what is closed."""

    made = 0
    closed = 0

    def __init__(self, shards: object, profile: Profile, threads: int, most_rows: int) -> None:
        self.threads = threads
        Own.made += 1

    def speak(self, texts: list[str], tokens: int, seconds: float = 1.0) -> Pace:
        assert seconds > 0
        took = tokens / 400 * self.threads
        steps = tuple(itertools.repeat(took / tokens, tokens))
        return Pace(len(texts), len(texts) * tokens, took, took, steps, (0.1,) * len(texts))

    def close(self) -> None:
        Own.closed += 1


class Original:
    """A hundred tokens a second for each row on one thread, half as many on two."""

    installed = True

    def __init__(self, folder: Path) -> None:
        self.threads = 0

    @staticmethod
    def available() -> bool:
        return Original.installed

    def speak(self, texts: list[str], tokens: int, seconds: float) -> Pace:
        assert seconds > 0
        took = tokens / 100 * self.threads
        return Pace(len(texts), len(texts) * tokens, took, took)

    def first_audio(self, text: str, tokens: int) -> float:
        return 1.0


@pytest.fixture(autouse=True)
def sides(monkeypatch: pytest.MonkeyPatch, chattts_folder: Path) -> None:
    monkeypatch.setattr(original, "OriginalSide", Original)
    monkeypatch.setattr(ours, "OwnSide", Own)
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
        for rows in chattts.BATCHES:
            assert line(table, f"{profile} x{rows}, GPT alone") == [f"{400 * rows:,}", "tokens/s"]
            assert line(table, f"{profile} x{rows}, step p95")[:2] == ["2.50", "ms"]
        assert line(table, f"{profile} / original, x1 / infer x1") == ["4", "ratio"]
        assert line(table, f"{profile} / original, first audio of one") == ["0.100", "ratio"]
    assert line(table, "original, infer x1, GPT alone") == ["100", "tokens/s"]
    assert Own.made == Own.closed == 6


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
