"""`manage.py say`: speech and segments without a server."""

import io
import json
from pathlib import Path

import av
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from tts.engines.kokoro import manifest


def run(*arguments: str, **options: object) -> str:
    output = io.StringIO()
    call_command("say", *arguments, stdout=output, stderr=io.StringIO(), **options)
    return output.getvalue()


def test_speaks_to_a_file(tmp_path: Path) -> None:
    out = tmp_path / "hello.wav"
    run("Hello there.", out=str(out), seed=1)
    with av.open(str(out)) as container:
        frames = list(container.decode(audio=0))
    seconds = sum(frame.samples / frame.sample_rate for frame in frames)
    assert 0.4 < seconds < 3.0
    assert list(tmp_path.iterdir()) == [out]


def test_speaks_in_tones_without_the_bundled_voices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifest, "bundled_available", lambda: "hibari is not installed")
    out = tmp_path / "hello.mp3"
    run("Hello there.", out=str(out))
    assert out.stat().st_size > 1_000


def test_shows_the_segments() -> None:
    plan = json.loads(run("你好, hello there.", "--dry-run"))
    (segment,) = plan["segments"]
    assert segment["source"] == "你好, hello there."
    assert segment["languages"] == ["zh", "en"]
    assert (segment["start"], segment["end"]) == (0, 16)


def test_one_json_line_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("One.\n\n我有3只猫。\n"))
    lines = [json.loads(line) for line in run("--dry-run", "--lines").splitlines()]
    assert lines[0]["segments"][0]["spoken"] == "One."
    assert "error" in lines[1]
    assert lines[2]["segments"][0]["spoken"] == "我有三只猫。"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["..."], "nothing that can be spoken"),
        (["Hi", "--voice", "nobody"], "nobody"),
        (["Hi", "--speed", "9"], "0.25 to 4"),
        (["Hi", "--out", "speech.xyz"], "xyz"),
        (["Hi", "--lines"], "--dry-run"),
    ],
)
def test_refusals_say_what_is_wrong(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CommandError, match=message):
        run(*arguments)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("out", ["nowhere/hello.wav", "a-file/hello.wav", "a-folder.wav"])
def test_a_place_that_cannot_be_written_is_told(tmp_path: Path, out: str) -> None:
    (tmp_path / "a-file").touch()
    (tmp_path / "a-folder.wav").mkdir()
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(
        CommandError, match=r"--out .*/hello\.wav|a-folder\.wav cannot be written: "
    ):
        run("Hello.", out=str(tmp_path / out))
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_seed_out_of_bounds_is_refused(tmp_path: Path, seed: int) -> None:
    with pytest.raises(CommandError, match=f"--seed is 0 to 4294967295, not {seed}"):
        run("Hello.", out=str(tmp_path / "hello.wav"), seed=seed)
