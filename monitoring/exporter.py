"""Each process serves its own metrics on a loopback port of its own.

Process metrics (`process_*`) survive that way, and nothing is shared through files.
"""

from prometheus_client import start_http_server


def metrics_serve(port: int) -> None:
    """Serve `/metrics` on 127.0.0.1:`port` from a daemon thread; 0 serves nothing."""
    if port:
        start_http_server(port, addr="127.0.0.1")
