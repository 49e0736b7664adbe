"""`manage.py run_synthesizer`: one synthesis worker."""

import asyncio
import os
import signal
import sys
from argparse import ArgumentParser
from typing import Any

import structlog
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from monitoring.exporter import MetricsPortUnusable, metrics_serve
from tts.engines.devices import cores

log = structlog.get_logger(__name__)

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
EXIT_AT_ONCE = 130
SWITCH_SECONDS = 0.001


class Command(BaseCommand):
    """Speak what the gateways ask for, until SIGTERM or SIGINT; a second signal ends at once.

    Exit codes: 0 after a drain, 1 when a part of the worker failed, 130 after a
    second signal.
    """

    help = "Run a synthesis worker: one process that owns a device and its models."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Define the command line."""
        environment = settings.ENVIRONMENT
        parser.add_argument(
            "--worker-id", default=environment.process_id, help="this worker's name in Redis"
        )
        parser.add_argument(
            "--lanes",
            type=int,
            default=environment.lanes,
            help="utterances computed at the same time on the CPU (0: one per core)",
        )
        parser.add_argument(
            "--device",
            default=environment.synthesis_devices[0],
            help='"cpu", "cuda:0", … (the first of SYNTHESIS_DEVICES)',
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Run until a signal comes."""
        lanes = options["lanes"] or cores()
        if lanes < 1:
            raise CommandError(f"--lanes must be 0 or more, not {options['lanes']}")
        # Lanes already use every core: libraries that bring threads of their own
        # would only fight over them. They read this when they are first imported.
        for name in THREAD_VARIABLES:
            os.environ.setdefault(name, "1")
        # The engine's thread and the event loop take turns: the default of 5 ms would
        # be what an audio chunk waits for when the scheduler is busy.
        sys.setswitchinterval(SWITCH_SECONDS)
        _device_check(options["device"])
        try:
            metrics_serve(settings.ENVIRONMENT.metrics_port)
        except MetricsPortUnusable as error:
            raise CommandError(str(error)) from error
        asyncio.run(self._run(options["worker_id"], lanes, options["device"]))

    async def _run(self, worker_id: str, lanes: int, device: str) -> None:
        from coordination.connection import redis_async, redis_async_close
        from tts.consumers.batching import WorkerFailed
        from tts.consumers.worker.build import consumer_build

        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, _stop_or_exit, stop)
        environment = settings.ENVIRONMENT
        consumer = consumer_build(
            worker_id,
            redis_async(),
            lanes=lanes,
            device=device,
            # Under another name than the supervisor's its death is announced to nobody.
            supervised=environment.supervised and worker_id == environment.process_id,
            shard_limit=environment.shard_memory_limit,
            shard_high_water=environment.shard_high_water,
            observers=self.observers(),
        )
        try:
            await consumer.run(stop, grace=environment.grace_seconds)
        except WorkerFailed as error:
            log.exception("synthesizer_failed", worker_id=worker_id)
            raise CommandError(f"the worker failed: {error}") from error
        finally:
            await redis_async_close()
        log.info("synthesizer_stopped", worker_id=worker_id)

    def observers(self) -> list[Any]:
        """The EngineObservers that hear of every engine step."""
        from monitoring.observer import MetricsObserver

        return [MetricsObserver()]


def _device_check(name: str) -> None:
    """Say at once, and not at the first text, that a device is not here."""
    from tts.engines.devices import CPU, DeviceUnavailable, device_find

    if name == CPU:  # torch takes seconds to import, which only some engines need
        return
    try:
        device_find(name)
    except DeviceUnavailable as error:
        raise CommandError(f"--device: {error}") from error


def _stop_or_exit(stop: asyncio.Event) -> None:
    if stop.is_set():
        # Heartbeat and streams expire by themselves, so the others notice.
        os._exit(EXIT_AT_ONCE)
    stop.set()
