"""How many files and sockets a process may have open."""

import resource

from voicehost.bench.errors import GeneratorFailed


def open_files_allow(count: int) -> None:
    """Raise this process's soft limit to `count` where it is lower.

    Raises GeneratorFailed where the hard limit does not allow it.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft >= count:
        return
    if hard not in (resource.RLIM_INFINITY,) and hard < count:
        raise GeneratorFailed(
            f"{count} sockets need a higher limit of open files than {hard}: see `ulimit -Hn`"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))
