"""The memory of a device: what is free, what this process has in use, and giving it back."""

import ctypes
import gc
import os
from pathlib import Path

from tts.engines.devices import CPU, device_find

_STATM = Path("/proc/self/statm")
_MEMINFO = Path("/proc/meminfo")
_GROUP = Path("/sys/fs/cgroup")
"""Of a container with its own view of the second version's hierarchy."""


def memory_used(device: str) -> int:
    """Bytes that this process has in use: its own pages on the CPU, those torch holds on CUDA.

    Pages of mapped files do not count on the CPU: the system takes them back as it needs. 0
    where a system does not tell.
    """
    if device == CPU:
        try:
            _, resident, shared = _STATM.read_text().split()[:3]
        except OSError:
            return 0
        return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")
    import torch

    return torch.cuda.memory_reserved(device_find(device))


def memory_free(device: str) -> int:
    """Bytes that are free for this process; raises DeviceUnavailable."""
    if device == CPU:
        free = _available()
        room = _group_room()
        return free if room is None else min(free, room)
    import torch

    free, _ = torch.cuda.mem_get_info(device_find(device))
    return int(free)


def memory_reclaim(device: str) -> None:
    """Give freed memory back to the device."""
    gc.collect()
    if device != CPU:
        import torch

        torch.cuda.empty_cache()
        return
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's alone
    if trim is not None:
        trim(0)


def _available() -> int:
    try:
        lines = _MEMINFO.read_text().splitlines()
    except OSError:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    fields = dict(line.split(":", 1) for line in lines)
    return int(fields["MemAvailable"].split()[0]) * 1024


def _group_room() -> int | None:
    """What the control group of a container still allows; None without a limit."""
    try:
        limit = (_GROUP / "memory.max").read_text().strip()
        used = int((_GROUP / "memory.current").read_text())
    except (OSError, ValueError):
        return None
    return None if limit == "max" else max(0, int(limit) - used)
