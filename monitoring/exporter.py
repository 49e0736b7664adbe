"""Each process serves its own metrics on a loopback port of its own.

Process metrics (`process_*`) survive that way, and nothing is shared through files.
"""

from django.core.exceptions import ImproperlyConfigured
from prometheus_client import start_http_server


def metrics_serve(port: int) -> None:
    """Serve `/metrics` on 127.0.0.1:`port` from a daemon thread; 0 serves nothing.

    Raises ImproperlyConfigured where that port cannot be had.
    """
    if not port:
        return
    try:
        start_http_server(port, addr="127.0.0.1")
    except (OSError, OverflowError) as error:
        raise ImproperlyConfigured(
            f"METRICS_PORT is {port}, but must be a port that no other process uses ({error})"
        ) from error
