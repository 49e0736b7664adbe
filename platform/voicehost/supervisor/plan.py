"""Which processes one machine runs."""

import itertools
import secrets
import sys
from dataclasses import dataclass
from pathlib import Path

from tts.engines.devices import CPU
from voicehost.env import ROOT, Environment
from voicehost.supervisor.process import ProcessSpec

MANAGE = str(ROOT / "manage.py")
KILL_MARGIN_SECONDS = 10.0
"""What a process has beyond the grace to let go of what did not end within it; then it is killed.

A worker may need 7.5 seconds of it (`tts.consumers.batching`), a web process some five.
"""


@dataclass(frozen=True, slots=True)
class Plan:
    """The processes in the order in which they start; workers stop last, so that streams finish."""

    workers: tuple[ProcessSpec, ...]
    celery: tuple[ProcessSpec, ...]
    web: tuple[ProcessSpec, ...]


def plan_make(environment: Environment, *, redis_url: str, web_fd: int, chdir: Path = ROOT) -> Plan:
    """Plan every process but Redis."""
    shared = {"REDIS_URL": redis_url, "VAR_DIR": str(environment.var_dir)}

    # Counted from METRICS_PORT in the order of the processes; 0 serves none.
    ports = itertools.count(environment.metrics_port)

    def spec(name: str, *arguments: str, fds: tuple[int, ...] = ()) -> ProcessSpec:
        process_id = f"{name}-{secrets.token_hex(4)}"
        metrics_port = next(ports) if environment.metrics_port else 0
        return ProcessSpec(
            name=name,
            argv=(sys.executable, *arguments),
            process_id=process_id,
            environment={
                **shared,
                "VOICEHOST_PROCESS_ID": process_id,
                "METRICS_PORT": str(metrics_port),
                "PYTHONPATH": f"{chdir}:{chdir / 'platform'}",
            },
            pass_fds=fds,
            stop_seconds=environment.grace_seconds + KILL_MARGIN_SECONDS,
        )

    workers = tuple(
        spec(f"synthesizer-{number}", MANAGE, "run_synthesizer", "--device", device)
        for number, device in enumerate(_worker_devices(environment))
    )
    web = tuple(
        spec(
            f"web-{number}", MANAGE, "run_web", "--fd", str(web_fd),
            "--server", environment.asgi_server, fds=(web_fd,),
        )
        for number in range(environment.web_processes)
    )  # fmt: skip
    celery_application = ("-m", "celery", "--quiet", "-A", "voicehost.celery")
    celery = (
        spec(
            "celery", *celery_application, "worker", "--concurrency", "2", "--loglevel", "WARNING",
            "--without-mingle", "--without-gossip",
        ),
        # No pid file: the supervisor already sees to it that there is one beat.
        spec("beat", *celery_application, "beat", "--loglevel", "WARNING", "--pidfile", ""),
    )  # fmt: skip
    return Plan(workers=workers, celery=celery, web=web)


def _worker_devices(environment: Environment) -> list[str]:
    """A device for each worker: one process owns a GPU, the CPU is shared by several."""
    devices: list[str] = []
    for device in environment.synthesis_devices:
        devices += [device] * (environment.synthesis_workers if device == CPU else 1)
    return devices
