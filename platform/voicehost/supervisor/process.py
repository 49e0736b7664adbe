"""One supervised process."""

import asyncio
import contextlib
import signal
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import structlog

from voicehost.supervisor.parent import child_kill, child_start

log = structlog.get_logger(__name__)
FIRST_DELAY = 0.2
LONGEST_DELAY = 30.0
STEADY_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """How to start a process and how to stop it.

    `process_id` is its identity in Redis. It gets `stop_seconds` between
    `stop_signal` and SIGKILL.
    """

    name: str
    argv: tuple[str, ...]
    process_id: str
    stop_seconds: float
    environment: dict[str, str] = field(default_factory=dict)
    pass_fds: tuple[int, ...] = ()
    stop_signal: signal.Signals = signal.SIGTERM


def backoff_seconds(failures: int) -> float:
    """The wait before restart number `failures` (1, 2, …): doubling, at most 30 s."""
    return float(min(LONGEST_DELAY, FIRST_DELAY * 2.0 ** (failures - 1)))


class SupervisedProcess:
    """Keeps one process running until it is stopped.

    `on_exit` is awaited whenever the process has ended, before it is restarted:
    the place to tell others that whatever it served is lost.
    """

    def __init__(
        self, spec: ProcessSpec, on_exit: Callable[[ProcessSpec], Awaitable[None]]
    ) -> None:
        self.spec = spec
        self._on_exit = on_exit
        self._process: asyncio.subprocess.Process | None = None
        self._task: asyncio.Task[None] | None = None
        self._stopping = False

    @property
    def pid(self) -> int | None:
        """The process id while it runs."""
        running = self._process is not None and self._process.returncode is None
        return self._process.pid if running and self._process is not None else None

    async def start(self) -> None:
        """Start the process once, then watch it."""
        await self._spawn()
        self._task = asyncio.create_task(self._watch(), name=f"watch {self.spec.name}")

    async def stop(self) -> None:
        """Signal, wait `stop_seconds`, kill. Idempotent; the process is gone afterwards."""
        self._stopping = True
        process = self._process
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(self.spec.stop_signal)
            try:
                await asyncio.wait_for(process.wait(), self.spec.stop_seconds)
            except TimeoutError:
                log.warning("process_killed", process=self.spec.name, after=self.spec.stop_seconds)
        self._kill_group()
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    def _kill_group(self) -> None:
        # The group outlives its leader while a grandchild (a Celery pool process) runs.
        if self._process is not None:
            child_kill(self._process)

    async def _spawn(self) -> None:
        self._process = await child_start(
            self.spec.argv, environment=self.spec.environment, pass_fds=self.spec.pass_fds
        )
        log.info("process_started", process=self.spec.name, pid=self._process.pid)

    async def _watch(self) -> None:
        failures = 0
        while self._process is not None:
            started = time.monotonic()
            code = await self._process.wait()
            if self._stopping:
                return
            self._kill_group()
            log.error("process_ended", process=self.spec.name, code=code)
            failures = 1 if time.monotonic() - started > STEADY_SECONDS else failures + 1
            try:
                await self._on_exit(self.spec)
            except Exception:
                # Telling others is a courtesy; the restart is the point.
                log.exception("process_end_not_told", process=self.spec.name)
            failures = await self._restart(failures)

    async def _restart(self, failures: int) -> int:
        """Start it again after its back-off, and after each failure to; returns the failures."""
        while True:
            await asyncio.sleep(backoff_seconds(failures))
            try:
                await self._spawn()
            except OSError:
                # No memory or process to be had now: that passes.
                failures += 1
                log.exception("process_not_started", process=self.spec.name)
            else:
                return failures
