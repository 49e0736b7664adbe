"""The processes of a platform on this machine: their processor time and memory, from /proc."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self

_TICKS = os.sysconf("SC_CLK_TCK")
KINDS = {
    "run_web": "web",
    "run_synthesizer": "worker",
    "-server": "Redis",
    "valkey": "Redis",
    "celery": "Celery",
}
"""A part of the command line, and what to call the process."""


@dataclass(frozen=True, slots=True)
class ProcessTimes:
    """Processor seconds used so far, by kind of process (see `KINDS`)."""

    seconds: dict[str, float]

    @classmethod
    def read(cls, supervisor: int) -> Self:
        """Look at the children of `supervisor`."""
        seconds: dict[str, float] = {}
        for pid, kind in children(supervisor).items():
            seconds[kind] = seconds.get(kind, 0.0) + processor_seconds(pid)
        return cls(seconds)

    def since(self, before: "ProcessTimes") -> dict[str, float]:
        """Processor seconds used since `before`, by kind."""
        return {kind: used - before.seconds.get(kind, 0.0) for kind, used in self.seconds.items()}


def children(supervisor: int) -> dict[int, str]:
    """Process id and kind of the supervisor's children of a known kind."""
    found: dict[int, str] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parent = int(_stat(int(entry.name))[1])
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        kind = next((kind for part, kind in KINDS.items() if part in command), None)
        if parent == supervisor and kind is not None:
            found[int(entry.name)] = kind
    return found


def processor_seconds(pid: int) -> float:
    """User and system time of a process, all threads; raises OSError when it is gone."""
    fields = _stat(pid)
    return (int(fields[11]) + int(fields[12])) / _TICKS


def resident_bytes(pid: int) -> int:
    """Memory of a process that is its own or its share of what others use too (PSS)."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"process {pid} tells no memory")


def _stat(pid: int) -> list[str]:
    """The fields of proc(5) stat behind the name: state, parent, …"""
    text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    return text.rsplit(")", 1)[1].split()
