"""The decoder's C++ has no fault that the sanitizers know of."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.requirement import missing
from tts.engines.chattts.native import build
from tts.engines.chattts.native.backend import NativeBackend

DRIVER = Path(__file__).parent / "native_driver.cpp"
COMMON = ("-O1", "-g", "-fno-omit-frame-pointer", "-fno-sanitize-recover=all")
KINDS = {
    "memory": ("-fsanitize=address,undefined", "-fsanitize=float-cast-overflow"),
    "threads": ("-fsanitize=thread",),
}


@pytest.fixture(params=list(KINDS))
def driver(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The driver, compiled with one kind of sanitizers."""
    try:
        compiler = build.compiler_find()
    except build.BuildError as error:
        missing(str(error))
    reason = NativeBackend.available()
    if reason is not None:
        missing(f"the native decoder ({reason})")
    flags = (*COMMON, *KINDS[request.param])
    empty = tmp_path / "empty.cpp"
    empty.write_text("int main() { return 0; }\n")
    program = tmp_path / "driver"
    trial = [compiler.path, *flags, str(empty), "-o", str(program)]
    if (
        subprocess.run(trial, capture_output=True, check=False).returncode
        or run(program).returncode
    ):
        # Some systems give no runtime library, or addresses where the sanitizer wants its own.
        pytest.skip(f"needs a compiler whose {request.param} sanitizers run here")
    sources = [*sorted(build.SOURCES.glob("*.cpp")), DRIVER]
    include = f"-I{build.SOURCES}"
    objects = build.objects_compile(compiler, sources, tmp_path, [*flags, include])
    link = [compiler.path, *flags, "-pthread", *map(str, objects), "-o", str(program)]
    subprocess.run(link, check=True)
    return program


def run(program: Path) -> subprocess.CompletedProcess[str]:
    # More memory than there is must be an error of ours, not the sanitizer's.
    options = {
        "ASAN_OPTIONS": "allocator_may_return_null=1",
        "TSAN_OPTIONS": "allocator_may_return_null=1",
    }
    return subprocess.run(
        [program],
        capture_output=True,
        text=True,
        timeout=150,
        env=os.environ | options,
        check=False,
    )


@pytest.mark.timeout(400)
def test_the_decoder_runs_clean(driver: Path) -> None:
    done = run(driver)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.split()[0] in {"3", "5", "6"}
