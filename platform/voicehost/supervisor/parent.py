"""Children that end with their parent, also when it is killed."""

import asyncio
import contextlib
import ctypes
import functools
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import Any

_PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Ask the kernel to kill this process when the thread that started it ends.

    Linux only (prctl(2)); elsewhere a killed supervisor's children must be
    stopped by hand. SIGKILL, since by then nobody is left to escalate.
    """
    if sys.platform != "linux":
        return
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def child_setup(parent_pid: int) -> None:
    """Run in the child between fork and exec: a group of its own, and no orphan.

    Its own process group keeps the terminal's Ctrl-C away: the supervisor
    decides the order in which processes stop.
    """
    os.setpgid(0, 0)
    die_with_parent()
    if os.getppid() != parent_pid:
        os._exit(1)


async def child_start(
    argv: Sequence[str], *, environment: Mapping[str, str] | None = None, **options: Any
) -> asyncio.subprocess.Process:
    """Start a process that does not outlive this one; raises OSError.

    `environment` is added to this process's own; `options` are those of `subprocess.Popen`.
    """
    return await asyncio.create_subprocess_exec(
        *argv,
        env={**os.environ, **(environment or {})},
        stdin=asyncio.subprocess.DEVNULL,
        preexec_fn=functools.partial(child_setup, os.getpid()),
        **options,
    )


def child_kill(process: asyncio.subprocess.Process) -> None:
    """Kill the process with all that it started, which may have outlived it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
