"""What the READMEs tell people to type works as it stands, top to bottom, on a first start."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import av
import pytest

from tests.e2e.platform import ROOT, Platform, platform_running
from tests.requirement import missing, program

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("readme"), pytest.mark.timeout(240)]

READMES = ("README.md", "README.zh-CN.md")
ADDRESS = "127.0.0.1:8000"
MAKE = "make "
"""Blocks with it install or start something: that is CI's business, and the fixture's."""


def blocks(name: str) -> list[str]:
    """The shell commands of a README that a running platform takes, a block each, in order."""
    return [block for block in fenced(name, "sh") if MAKE not in block]


def fenced(name: str, language: str) -> list[str]:
    """A README's blocks of a language, in order."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def without_comments(found: list[str]) -> list[str]:
    return [re.sub(r" +# .*", "", block) for block in found]


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    with platform_running(tmp_path_factory.mktemp("readme") / "var") as running:
        if "kokoro@1.0" not in running.manage("route_show", "tts-1"):
            missing("the bundled voices")
        yield running


@pytest.fixture(scope="module")
def folder(platform: Platform, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project's folder as `make run` leaves it, but for the state, which is this platform's."""
    found = tmp_path_factory.mktemp("clone")
    (found / ".venv").symlink_to(sys.prefix)
    (found / "manage.py").symlink_to(ROOT / "manage.py")
    (found / "var").symlink_to(platform.var_dir)
    return found


def test_both_languages_say_the_same_commands() -> None:
    english, chinese = (without_comments(blocks(name)) for name in READMES)
    assert english == chinese


def test_both_languages_have_the_same_parts() -> None:
    english, chinese = (
        re.findall(r"^(#+(?= )|```\w*$)", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
        for name in READMES
    )
    assert english == chinese


@pytest.mark.parametrize("name", READMES)
def test_every_program_works(name: str, platform: Platform, folder: Path) -> None:
    found = fenced(name, "python")
    assert len(found) == 2
    for program_text, out in zip(found, ("speech.mp3", "live.mp3"), strict=True):
        result = subprocess.run(
            [sys.executable, "-c", program_text.replace(ADDRESS, platform.url.split("//")[1])],
            cwd=folder,
            env={**os.environ, "VOICEHOST_KEY": platform.key, "NO_PROXY": "127.0.0.1"},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert result.returncode == 0, result.stderr
        with av.open(str(folder / out)) as audio:
            assert audio.streams.audio[0].codec.name.startswith("mp3")
        (folder / out).unlink()


def test_every_block_works(platform: Platform, folder: Path) -> None:
    found = blocks("README.md")
    assert len(found) == 4
    for block in found:
        result = subprocess.run(
            [
                program("bash"),
                "-euo",
                "pipefail",
                "-c",
                block.replace(ADDRESS, platform.url.split("//")[1]),
            ],
            cwd=folder,
            env=platform.environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert result.returncode == 0, f"{block}\n{result.stdout}\n{result.stderr}"
    with av.open(str(folder / "hello.mp3")) as audio:
        assert audio.streams.audio[0].codec.name.startswith("mp3")
    split = platform.manage("route_show", "tts-1")
    assert "kokoro@1.0 100 (100 %)" in split
