"""Compiles the decoder's C++ with the compiler that the machine has.

The library is kept in the user's cache folder, named by its source, compiler and flags: another
version of any of them is another file, and processes that build at once end with the same one.
Run as a command it builds ahead of the first use.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tts.engines.devices import cores

SOURCES = Path(__file__).parent / "src"
TIMEOUT = 300.0
"""Seconds that a build may take."""

_FLAGS = (
    "-std=c++17",
    "-O3",
    "-fPIC",
    "-fvisibility=hidden",
    # A product and a sum are one operation only where the source says so: rows must not differ
    # by which copy of a loop computed them.
    "-ffp-contract=off",
    "-fno-math-errno",
    "-pthread",
    "-DGPT_BUILDING",
    "-Wall",
    "-Wextra",
    # GCC's own AVX-512 headers are not free of these.
    "-Wno-maybe-uninitialized",
    "-Wno-unknown-pragmas",
)
_AVX2 = ("-mavx2", "-mfma")
_AVX512 = (*_AVX2, "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mavx512vnni")
_FILE_FLAGS = {
    "kernels_avx2.cpp": _AVX2,
    "kernels_avx512.cpp": _AVX512,
    "kernels_avx512_bf16.cpp": (*_AVX512, "-mavx512bf16"),
}


class BuildError(RuntimeError):
    """The library cannot be built here; the message says why."""


@dataclass(frozen=True, slots=True)
class Compiler:
    """A C++ compiler: its path and what it says of its version."""

    path: str
    version: str


def compiler_find() -> Compiler:
    """The first of $CXX, c++, g++ and clang++ that runs. Raises BuildError if there is none."""
    for name in (os.environ.get("CXX", ""), "c++", "g++", "clang++"):
        path = shutil.which(name) if name else None
        if path is None:
            continue
        try:
            done = subprocess.run(  # noqa: S603 - the user's own compiler
                [path, "--version"], capture_output=True, text=True, timeout=30, check=True
            )
        except (OSError, subprocess.SubprocessError):
            continue
        return Compiler(path, done.stdout)
    raise BuildError("there is no C++ compiler (CXX, c++, g++ or clang++)")


def cache_folder() -> Path:
    """Where libraries are kept: $XDG_CACHE_HOME or ~/.cache, below it voicehost/native."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if base:
        return Path(base) / "voicehost" / "native"
    try:
        return Path.home() / ".cache" / "voicehost" / "native"
    except RuntimeError as error:
        raise BuildError("there is no home folder to build in: set XDG_CACHE_HOME") from error


def library_build(
    folder: Path | None = None, announce: Callable[[Path], None] = lambda _: None
) -> Path:
    """The path of the compiled library, built if it is not there yet, which `announce` is told.

    A library of this source is taken without a compiler, too. Raises BuildError.
    """
    folder = folder or cache_folder()
    source = _digest(*(f"{p.name}\n{p.read_text()}" for p in sorted(SOURCES.iterdir())))
    try:
        compiler = compiler_find()
    except BuildError:
        built = sorted(folder.glob(f"gpt-{source}-*.so"))
        if built:
            return built[0]
        raise
    key = _digest(compiler.path, compiler.version, repr((_FLAGS, _FILE_FLAGS)))
    library = folder / f"gpt-{source}-{key}.so"
    if not library.exists():
        _build(compiler, library)
        announce(library)
    return library


def objects_compile(
    compiler: Compiler, sources: Sequence[Path], folder: Path, flags: Sequence[str] = ()
) -> list[Path]:
    """Compile each source with what its instruction set needs, several at once, into `folder`."""
    deadline = time.monotonic() + TIMEOUT

    def compiled(source: Path) -> Path:
        target = folder / f"{source.stem}.o"
        own = (*_FLAGS, *_FILE_FLAGS.get(source.name, ()), *flags)
        _run([compiler.path, *own, "-c", str(source), "-o", str(target)], deadline)
        return target

    with ThreadPoolExecutor(cores()) as pool:
        return list(pool.map(compiled, sources))


def _build(compiler: Compiler, library: Path) -> None:
    try:
        library.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryDirectory(prefix="build-", dir=library.parent) as name:
            folder = Path(name)
            objects = objects_compile(compiler, sorted(SOURCES.glob("*.cpp")), folder)
            linked = folder / library.name
            command = [compiler.path, "-shared", "-pthread", *map(str, objects), "-o", str(linked)]
            _run(command, time.monotonic() + TIMEOUT)
            # Whoever sees the name sees a whole library.
            linked.replace(library)
    except OSError as error:
        raise BuildError(f"cannot build in {library.parent}: {error}") from error


def _run(command: Sequence[str], deadline: float) -> None:
    left = max(deadline - time.monotonic(), 1.0)
    try:
        done = subprocess.run(  # noqa: S603 - the user's own compiler, our own source
            command, capture_output=True, text=True, timeout=left, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise BuildError(f"{command[0]} took more than {TIMEOUT:.0f} seconds") from error
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if "error" in line]
        what = (lines or done.stderr.splitlines() or ["no message"])[0]
        raise BuildError(f"{command[0]} failed: {what}")


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def main() -> None:
    """Build, and say in a line what came of it; nothing where the library is there already."""
    try:
        library_build(announce=lambda library: _say(f"ChatTTS' native decoder is built: {library}"))
    except BuildError as error:
        _say(f"ChatTTS' native decoder is not built ({error}): torch computes instead, slower")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
