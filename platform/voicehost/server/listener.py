"""The listening socket of the web processes."""

import socket

LISTEN_BACKLOG = 2048


class AddressUnusable(Exception):
    """An address cannot be listened on; the message says which, why, and the settings."""


def listener_open(host: str, port: int) -> socket.socket:
    """A socket that listens on `host` and `port` and does not block; raises AddressUnusable."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(LISTEN_BACKLOG)
    except (OSError, OverflowError) as error:
        listener.close()
        why = getattr(error, "strerror", None) or error
        raise AddressUnusable(f"{host}:{port} cannot be used ({why}): set PORT or HOST.") from error
    # Several processes may accept from it: whoever comes late must not wait.
    listener.setblocking(False)
    return listener
