"""Which processes one machine runs."""

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
_APPLICATION = ("-m", "celery", "--quiet", "-A", "voicehost.celery")
_CELERY = {
    "celery": (
        *_APPLICATION, "worker", "--concurrency", "2", "--loglevel", "WARNING",
        "--without-mingle", "--without-gossip",
    ),
    # No pid file: the supervisor already sees to it that there is one beat.
    "beat": (*_APPLICATION, "beat", "--loglevel", "WARNING", "--pidfile", ""),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Plan:
    """The processes in the order in which they start; workers stop last, so that streams finish."""

    workers: tuple[ProcessSpec, ...]
    celery: tuple[ProcessSpec, ...]
    web: tuple[ProcessSpec, ...]


def plan_make(environment: Environment, *, redis_url: str, web_fd: int, chdir: Path = ROOT) -> Plan:
    """Plan every process but Redis."""
    shared = {"REDIS_URL": redis_url, "VAR_DIR": str(environment.var_dir)}
    ports = metrics_ports(environment)

    def spec(name: str, *arguments: str, fds: tuple[int, ...] = ()) -> ProcessSpec:
        process_id = f"{name}-{secrets.token_hex(4)}"
        return ProcessSpec(
            name=name,
            argv=(sys.executable, *arguments),
            process_id=process_id,
            environment={
                **shared,
                "VOICEHOST_PROCESS_ID": process_id,
                "METRICS_PORT": str(ports.get(name, 0)),
                "PYTHONPATH": f"{chdir}:{chdir / 'platform'}",
            },
            pass_fds=fds,
            stop_seconds=environment.grace_seconds + KILL_MARGIN_SECONDS,
        )

    workers = tuple(
        spec(_worker_name(number), MANAGE, "run_synthesizer", "--device", device)
        for number, device in enumerate(_worker_devices(environment))
    )
    web = tuple(
        spec(
            _web_name(number), MANAGE, "run_web", "--fd", str(web_fd),
            "--server", environment.asgi_server, fds=(web_fd,),
        )
        for number in range(environment.web_processes)
    )  # fmt: skip
    celery = tuple(spec(name, *arguments) for name, arguments in _CELERY.items())
    return Plan(workers=workers, celery=celery, web=web)


def metrics_ports(environment: Environment) -> dict[str, int]:
    """The ports on which the processes serve metrics, by their names: none without METRICS_PORT."""
    if not environment.metrics_port:
        return {}
    workers = [_worker_name(number) for number in range(len(_worker_devices(environment)))]
    web = [_web_name(number) for number in range(environment.web_processes)]
    return {
        name: port for port, name in enumerate([*workers, *web], start=environment.metrics_port)
    }


def _worker_name(number: int) -> str:
    return f"synthesizer-{number}"


def _web_name(number: int) -> str:
    return f"web-{number}"


def _worker_devices(environment: Environment) -> list[str]:
    """A device for each worker: one process owns a GPU, the CPU is shared by several."""
    devices: list[str] = []
    for device in environment.synthesis_devices:
        devices += [device] * (environment.synthesis_workers if device == CPU else 1)
    return devices
