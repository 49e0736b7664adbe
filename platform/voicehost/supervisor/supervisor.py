"""Runs a plan: starts in order, tells others what died, stops in order."""

import asyncio
import contextlib
import fcntl
import socket
import sys
from collections.abc import AsyncIterator, Coroutine, Iterator
from pathlib import Path
from typing import Any

import structlog

from monitoring.exporter import MetricsPortUnusable, metrics_port_check
from tts.gateway.announce import process_lost_announce
from voicehost.env import Environment
from voicehost.server.listener import AddressUnusable, listener_open
from voicehost.supervisor.errors import AddressInUse, AlreadyRunning, SupervisorError
from voicehost.supervisor.parent import child_kill, child_start
from voicehost.supervisor.plan import MANAGE, metrics_ports, plan_make
from voicehost.supervisor.process import ProcessSpec, SupervisedProcess
from voicehost.supervisor.redis_server import (
    data_folder,
    redis_ready,
    redis_spec,
    server_program,
    socket_path,
)

log = structlog.get_logger(__name__)


class Supervisor:
    """All processes of one machine."""

    def __init__(self, environment: Environment, *, given_redis_url: str) -> None:
        self._environment = environment
        self._given_redis_url = given_redis_url
        self._redis_url = given_redis_url

    async def run(self, stop: asyncio.Event, ready: asyncio.Event | None = None) -> None:
        """Run everything until `stop` is set; raises SupervisorError when it cannot start."""
        self._environment.run_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _state_lock(self._environment.run_dir), self._addresses() as listener:
            async with contextlib.AsyncExitStack() as services:
                if await _done_before(stop, self._start(services)):
                    await self._run_plan(listener, stop, ready)

    async def _start(self, services: contextlib.AsyncExitStack) -> None:
        """What the processes of the plan need; `services` ends what it started."""
        await services.enter_async_context(self._redis())
        await self._prepare()

    async def _run_plan(
        self, listener: socket.socket, stop: asyncio.Event, ready: asyncio.Event | None
    ) -> None:
        plan = plan_make(
            self._environment,
            redis_url=self._redis_url,
            web_fd=listener.fileno(),
        )
        # Stopped the other way round: who speaks first, then the workers that they speak through.
        stages = [
            [SupervisedProcess(spec, self._lost) for spec in specs]
            for specs in (plan.workers, plan.celery + plan.web)
        ]
        try:
            for stage in stages:
                for process in stage:
                    await process.start()
            if ready is not None:
                ready.set()
            await stop.wait()
        finally:
            log.info("stopping")
            # Or who comes now would wait in its queue for nobody.
            listener.close()
            for stage in reversed(stages):
                await asyncio.gather(*(process.stop() for process in stage))

    async def _lost(self, spec: ProcessSpec) -> None:
        """Tell the others at once; without Redis their heartbeats say it a second later."""
        try:
            await process_lost_announce(self._redis_url, spec.process_id)
        except OSError as error:
            log.warning("lost_process_not_announced", process=spec.name, error=str(error))

    @contextlib.asynccontextmanager
    async def _redis(self) -> AsyncIterator[None]:
        """Use the server that was given, else run one of our own."""
        if self._given_redis_url:
            await redis_ready(self._given_redis_url)
            yield
            return
        path = socket_path(self._environment.run_dir)
        self._redis_url = f"unix://{path}"
        program = server_program(embedded=self._environment.embedded_redis)
        data = await data_folder(program, self._environment.var_dir)
        spec = redis_spec(program=program, data=data, socket=path)
        server = SupervisedProcess(spec, self._lost_redis)
        url_file = self._environment.run_dir / "redis.url"
        try:
            await server.start()
            await redis_ready(self._redis_url, data=data)
            url_file.write_text(self._redis_url)
            yield
        finally:
            url_file.unlink(missing_ok=True)
            await server.stop()

    async def _lost_redis(self, spec: ProcessSpec) -> None:
        log.error("redis_lost", process=spec.name)

    async def _prepare(self) -> None:
        """Migrate and, on the first start, make what a newcomer needs."""
        process = await child_start(
            [sys.executable, MANAGE, "prepare"],
            environment={
                "REDIS_URL": self._redis_url,
                "VAR_DIR": str(self._environment.var_dir),
            },
        )
        try:
            code = await process.wait()
        finally:
            # A stop does not wait: a migration is a transaction, and the next start goes on.
            child_kill(process)
            await process.wait()
        if code != 0:
            raise SupervisorError("The installation could not be prepared; the reason is above.")

    @contextlib.contextmanager
    def _addresses(self) -> Iterator[socket.socket]:
        """One listening socket that all web processes share; raises AddressInUse.

        The processes open their ports for metrics themselves: those are looked at only.
        """
        try:
            listener = listener_open(self._environment.host, self._environment.port)
        except AddressUnusable as error:
            raise AddressInUse(str(error)) from error
        with listener:
            for name, port in metrics_ports(self._environment).items():
                try:
                    metrics_port_check(port)
                except MetricsPortUnusable as error:
                    raise AddressInUse(f"{name}: {error}") from error
            yield listener


async def _done_before(stop: asyncio.Event, work: Coroutine[Any, Any, None]) -> bool:
    """Whether `work` ended before `stop` was set; it is cancelled otherwise, to its end."""
    working, stopping = asyncio.create_task(work), asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if stopping.done() and not working.done():
            return False
        await working
        return True
    finally:
        for task in (working, stopping):
            task.cancel()
        await asyncio.gather(working, stopping, return_exceptions=True)


@contextlib.contextmanager
def _state_lock(run_dir: Path) -> Iterator[None]:
    """Hold the state folder; raises AlreadyRunning where another `serve` does."""
    path = run_dir / "serve.lock"
    with path.open("a") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise AlreadyRunning(
                f"Another `serve` runs in {run_dir.parent}: stop it, or set VAR_DIR."
            ) from error
        yield
