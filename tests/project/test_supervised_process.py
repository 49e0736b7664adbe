"""A supervised process is started, restarted when it dies, and stopped with all it started."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from voicehost.supervisor.process import ProcessSpec, SupervisedProcess, backoff_seconds

FOREVER = "import signal; signal.pause()"
DEAF = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True)\n" + (
    "while True: signal.pause()"
)


def _spec(code: str, *, stop_seconds: float = 5.0, name: str = "child") -> ProcessSpec:
    return ProcessSpec(
        name=name,
        argv=(sys.executable, "-c", code),
        process_id="child-1",
        stop_seconds=stop_seconds,
    )


async def _ignore(spec: ProcessSpec) -> None:
    """Nobody needs to know."""


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


async def _gone(pid: int) -> None:
    async with asyncio.timeout(10):
        while _alive(pid):
            await asyncio.sleep(0.01)


async def test_it_runs_and_stops() -> None:
    process = SupervisedProcess(_spec(FOREVER), _ignore)
    await process.start()
    pid = process.pid
    assert pid is not None
    assert _alive(pid)
    await process.stop()
    assert not _alive(pid)
    assert process.pid is None


async def test_ctrl_c_in_the_terminal_does_not_reach_it() -> None:
    process = SupervisedProcess(_spec(FOREVER), _ignore)
    await process.start()
    assert process.pid is not None
    # A terminal interrupts the group in its foreground: the supervisor's.
    assert os.getpgid(process.pid) == process.pid != os.getpgid(0)
    await process.stop()


async def test_what_dies_is_reported_and_restarted() -> None:
    lost: list[str] = []

    async def note(spec: ProcessSpec) -> None:
        lost.append(spec.process_id)

    process = SupervisedProcess(_spec(FOREVER), note)
    await process.start()
    first = process.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    async with asyncio.timeout(10):
        while process.pid in (None, first):
            await asyncio.sleep(0.01)
    assert lost == ["child-1"]
    await process.stop()


async def test_what_ignores_the_signal_is_killed_after_a_while() -> None:
    process = SupervisedProcess(_spec(DEAF, stop_seconds=0.5), _ignore)
    await process.start()
    pid = process.pid
    assert pid is not None
    await process.stop()
    await _gone(pid)


async def test_grandchildren_end_with_the_process(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    code = (
        "import subprocess, sys, pathlib, signal\n"
        f"child = subprocess.Popen([sys.executable, '-c', {FOREVER!r}])\n"
        f"pathlib.Path({str(note)!r}).write_text(str(child.pid))\n"
        "signal.pause()"
    )
    process = SupervisedProcess(_spec(code), _ignore)
    await process.start()
    async with asyncio.timeout(10):
        while not (note.exists() and note.read_text()):
            await asyncio.sleep(0.01)
    grandchild = int(note.read_text())
    await process.stop()
    await _gone(grandchild)


@pytest.mark.skipif(sys.platform != "linux", reason="needs prctl(2)")
async def test_no_child_outlives_a_killed_supervisor(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    root = Path(__file__).resolve().parents[2]
    code = f"""
import asyncio, pathlib, sys
from voicehost.supervisor.process import ProcessSpec, SupervisedProcess

async def main():
    async def ignore(spec): pass
    spec = ProcessSpec("child", (sys.executable, "-c", {FOREVER!r}), "child-1", 5.0)
    process = SupervisedProcess(spec, ignore)
    await process.start()
    pathlib.Path({str(note)!r}).write_text(str(process.pid))
    await asyncio.Event().wait()

asyncio.run(main())
"""
    supervisor = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        code,
        env={**os.environ, "PYTHONPATH": f"{root}:{root / 'platform'}"},
    )
    async with asyncio.timeout(20):
        while not (note.exists() and note.read_text()):
            await asyncio.sleep(0.01)
    child = int(note.read_text())
    assert _alive(child)
    supervisor.kill()
    await supervisor.wait()
    await _gone(child)


def test_backoff_doubles_up_to_half_a_minute() -> None:
    assert [backoff_seconds(n) for n in (1, 2, 3)] == [0.2, 0.4, 0.8]
    assert backoff_seconds(50) == 30.0


async def test_it_is_restarted_though_nobody_could_be_told() -> None:
    async def fail(spec: ProcessSpec) -> None:
        raise RuntimeError("Redis is gone as well")

    process = SupervisedProcess(_spec(FOREVER), fail)
    await process.start()
    first = process.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    async with asyncio.timeout(10):
        while process.pid in (None, first):
            await asyncio.sleep(0.01)
    await process.stop()


async def test_a_restart_that_fails_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    process = SupervisedProcess(_spec(FOREVER), _ignore)
    await process.start()
    first = process.pid
    assert first is not None
    real, tries = asyncio.create_subprocess_exec, []

    async def flaky(*arguments: object, **options: object) -> object:
        tries.append(arguments)
        if len(tries) == 1:
            raise BlockingIOError("no process to be had")
        return await real(*arguments, **options)  # type: ignore[arg-type]  # passed on as it came

    monkeypatch.setattr(asyncio, "create_subprocess_exec", flaky)
    os.kill(first, signal.SIGKILL)
    async with asyncio.timeout(10):
        while process.pid in (None, first):
            await asyncio.sleep(0.01)
    assert len(tries) == 2
    await process.stop()
