"""Children that end with their parent, also when it is killed."""

import ctypes
import os
import signal
import sys

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
