"""Each process serves its own metrics on a loopback port of its own.

Process metrics (`process_*`) survive that way, and nothing is shared through files.
"""

import socket

from prometheus_client import start_http_server

HOST = "127.0.0.1"


class MetricsPortUnusable(Exception):
    """Metrics cannot be served on a port; the message says which, why, and the setting."""

    def __init__(self, port: int, error: Exception) -> None:
        why = getattr(error, "strerror", None) or error
        super().__init__(
            f"{HOST}:{port} cannot be used for metrics ({why}): set METRICS_PORT, or 0 for none."
        )


def metrics_serve(port: int) -> None:
    """Serve `/metrics` on 127.0.0.1:`port` from a daemon thread; 0 serves nothing.

    Raises MetricsPortUnusable.
    """
    if not port:
        return
    try:
        start_http_server(port, addr=HOST)
    except (OSError, OverflowError) as error:
        raise MetricsPortUnusable(port, error) from error


def metrics_port_check(port: int) -> None:
    """Raise MetricsPortUnusable where another process has the port."""
    with socket.socket() as probe:
        # As the exporter's: a port that a process has just left is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except (OSError, OverflowError) as error:
            raise MetricsPortUnusable(port, error) from error
