"""The decoder is compiled where there is a compiler, and says why where it is not."""

import stat
import threading
from pathlib import Path

import pytest

from tests.requirement import missing
from tts.engines.chattts.native import binding, build


@pytest.fixture(scope="module")
def compiler() -> build.Compiler:
    try:
        return build.compiler_find()
    except build.BuildError as error:
        missing(str(error))


def compiler_script(path: Path, body: str) -> Path:
    """A compiler that says its version, and does `body` for anything else."""
    path.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo 1 && exit 0\n{body}\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_a_library_is_built_once_by_all_who_ask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = tmp_path / "calls"
    script = (
        f"echo x >> {calls}\n"
        'while [ $# -gt 1 ]; do [ "$1" = -o ] && out=$2; shift; done\n: > "$out"'
    )
    monkeypatch.setenv("CXX", str(compiler_script(tmp_path / "cxx", script)))
    folder = tmp_path / "libraries"
    found: list[Path] = []
    threads = [
        threading.Thread(target=lambda: found.append(build.library_build(folder))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(found) == 3
    assert [found[0]] == sorted(set(found)) == list(folder.iterdir())
    before = calls.read_text()
    assert build.library_build(folder) == found[0]
    assert calls.read_text() == before


def test_another_compiler_is_another_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = 'while [ $# -gt 1 ]; do [ "$1" = -o ] && out=$2; shift; done\n: > "$out"'
    found = set()
    for name in ("first", "second"):
        monkeypatch.setenv("CXX", str(compiler_script(tmp_path / name, script)))
        found.add(build.library_build(tmp_path / "libraries"))
    assert len(found) == 2


def test_without_a_compiler_what_was_built_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = 'while [ $# -gt 1 ]; do [ "$1" = -o ] && out=$2; shift; done\n: > "$out"'
    monkeypatch.setenv("CXX", str(compiler_script(tmp_path / "cxx", script)))
    library = build.library_build(tmp_path / "libraries")
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    assert build.library_build(tmp_path / "libraries") == library
    with pytest.raises(build.BuildError, match=r"no C\+\+ compiler"):
        build.library_build(tmp_path / "empty")


def test_a_compiler_that_fails_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = compiler_script(tmp_path / "cxx", 'echo "x.cpp:1: error: no such thing" >&2; exit 1')
    monkeypatch.setenv("CXX", str(failing))
    with pytest.raises(build.BuildError, match=r"x.cpp:1: error: no such thing"):
        build.library_build(tmp_path / "libraries")
    assert list((tmp_path / "libraries").iterdir()) == []


def test_a_compiler_that_hangs_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", str(compiler_script(tmp_path / "cxx", "exec sleep 100")))
    monkeypatch.setattr(build, "TIMEOUT", 0.1)
    with pytest.raises(build.BuildError, match="took more than"):
        build.library_build(tmp_path / "libraries")


def test_a_folder_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXX", str(compiler_script(tmp_path / "cxx", "exit 0")))
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(build.BuildError, match="cannot build in"):
        build.library_build(blocked / "libraries")


def test_setup_says_that_it_has_built_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = 'while [ $# -gt 1 ]; do [ "$1" = -o ] && out=$2; shift; done\n: > "$out"'
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("CXX", str(compiler_script(tmp_path / "cxx", script)))
    build.main()
    (library,) = build.cache_folder().iterdir()
    assert capsys.readouterr().out == f"ChatTTS' native decoder is built: {library}\n"
    build.main()
    assert capsys.readouterr().out == ""


def test_setup_says_why_it_could_not_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("CXX", str(compiler_script(tmp_path / "cxx", "exit 1")))
    build.main()
    assert capsys.readouterr().out.splitlines() == [
        f"ChatTTS' native decoder is not built ({tmp_path / 'cxx'} failed: no message): "
        "torch computes instead, slower"
    ]


def test_a_file_that_is_no_library_is_a_native_error(tmp_path: Path) -> None:
    damaged = tmp_path / "gpt.so"
    damaged.write_bytes(b"")
    with pytest.raises(binding.NativeError, match="cannot be loaded"):
        binding.Library(str(damaged))


def test_the_build_has_no_warnings(compiler: build.Compiler, tmp_path: Path) -> None:
    sources = [p for p in build.SOURCES.glob("*.cpp") if not p.name.startswith("kernels")]
    assert len(build.objects_compile(compiler, sources, tmp_path, ["-Werror", "-O1"])) == len(
        sources
    )
