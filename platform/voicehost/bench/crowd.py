"""Many listeners and idle sockets at once, and what they cost the web process."""

import asyncio
import contextlib
import json
import math
import os
import sys
from dataclasses import dataclass

from voicehost.bench.base import Target
from voicehost.bench.errors import GeneratorFailed
from voicehost.bench.listeners import Heard, Scene
from voicehost.bench.processes import ProcessTimes, children, resident_bytes
from voicehost.bench.scrape import Metrics
from voicehost.env import ROOT

MODULE = "voicehost.bench.listeners"
OPEN_SECONDS = 60.0
SETTLE_SECONDS = 1.0
LINE_LIMIT = 2**20
LAG = "voicehost_event_loop_lag_seconds"


@dataclass(frozen=True, slots=True)
class CrowdFigures:
    """What the listeners heard, and the platform's side of it.

    `socket_bytes` is the web process's memory for each idle socket; `lag_p99`
    its event loop's lateness in seconds while the listeners were there;
    `processor` the processor seconds by kind of process meanwhile, the whole
    lasting `seconds`. What cannot be seen from here is NaN, or empty.
    """

    heard: Heard
    socket_bytes: float
    lag_p99: float
    lag_most: float
    processor: dict[str, float]
    seconds: float


async def crowd_listen(scene: Scene, target: Target) -> CrowdFigures:
    """Run the load generator; raises GeneratorFailed."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        MODULE,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'platform'}"},
        limit=LINE_LIMIT,
    )
    try:
        return await _measure(process, scene, target)
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        await process.wait()


async def _measure(
    process: asyncio.subprocess.Process, scene: Scene, target: Target
) -> CrowdFigures:
    loop = asyncio.get_running_loop()
    empty = await asyncio.to_thread(_web_bytes, target)
    await _tell(process, scene.to_json())
    opened = json.loads(await _answer(process, OPEN_SECONDS))["sockets"]
    await asyncio.sleep(SETTLE_SECONDS)
    held = await asyncio.to_thread(_web_bytes, target)
    before, used = await _metrics(target), ProcessTimes.read(target.supervisor)
    began = loop.time()
    await _tell(process, "go")
    heard = Heard.from_json(await _answer(process, scene.most_seconds + 10.0))
    seconds = loop.time() - began
    after = await _metrics(target)
    lag = after.since(before) if before is not None and after is not None else None
    return CrowdFigures(
        heard=heard,
        socket_bytes=(held - empty) / opened if opened else math.nan,
        lag_p99=lag.percentile(LAG, 0.99) if lag else math.nan,
        lag_most=lag.percentile(LAG, 1.0) if lag else math.nan,
        processor=ProcessTimes.read(target.supervisor).since(used),
        seconds=seconds,
    )


async def _tell(process: asyncio.subprocess.Process, line: str) -> None:
    if process.stdin is None:
        raise GeneratorFailed("the load generator has no input")
    with contextlib.suppress(ConnectionError):
        # One that has ended says why on its standard error.
        process.stdin.write(line.encode() + b"\n")
        await process.stdin.drain()


async def _answer(process: asyncio.subprocess.Process, seconds: float) -> str:
    """The next line; raises GeneratorFailed with what it says when it ends without one."""
    if process.stdout is None or process.stderr is None:
        raise GeneratorFailed("the load generator has no output")
    try:
        line = await asyncio.wait_for(process.stdout.readline(), seconds)
    except TimeoutError:
        raise GeneratorFailed(f"the load generator said nothing for {seconds:.0f} s") from None
    if not line:
        reason = (await process.stderr.read()).decode(errors="replace").strip()
        raise GeneratorFailed(f"the load generator ended: {reason[-500:]}")
    return line.decode()


def _web_bytes(target: Target) -> float:
    """Memory of the web processes; NaN where they are not ours to see."""
    kinds = children(target.supervisor).items() if target.supervisor else ()
    pids = [pid for pid, kind in kinds if kind == "web"]
    return float(sum(map(resident_bytes, pids))) if pids else math.nan


async def _metrics(target: Target) -> Metrics | None:
    if not target.metrics_port:
        return None
    try:
        return await asyncio.to_thread(Metrics.read, target.metrics_port)
    except OSError:
        return None
