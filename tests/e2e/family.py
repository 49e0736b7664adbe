"""The processes that a process has started, as /proc tells."""

import os
from pathlib import Path


def descendants(pid: int) -> list[int]:
    """The process ids of all children of `pid`, and theirs."""
    parents = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(entry.name)] = int(_fields(int(entry.name))[1])
        except OSError:
            continue
    found: list[int] = []
    frontier = {pid}
    while frontier:
        frontier = {child for child, parent in parents.items() if parent in frontier}
        found += frontier
    return found


def alive(pids: list[int]) -> list[int]:
    """Those that still run; a process that only waits to be reaped does not."""
    found = []
    for pid in pids:
        try:
            state = _fields(pid)[0]
        except OSError:
            continue
        if state not in "ZX":
            found.append(pid)
    return found


def _fields(pid: int) -> list[str]:
    """State, parent, … of a process (proc(5), stat)."""
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()


def resident(pid: int) -> int:
    """Bytes of memory that a process occupies."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
