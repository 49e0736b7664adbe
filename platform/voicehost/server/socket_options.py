"""What the kernel is asked to do for each connection."""

import socket
import struct
from typing import Any

from voicehost.server.config import WebConfig


def socket_set_up(connection: Any, config: WebConfig) -> None:
    """Bound the kernel's share of unsent output, and notice peers that are gone."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, config.send_buffer)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    option = getattr(socket, "TCP_USER_TIMEOUT", None)
    if option is not None and connection.family in {socket.AF_INET, socket.AF_INET6}:
        # Also ends what stays unread after its response is over (tcp(7)).
        milliseconds = int(2 * config.stall_seconds * 1000)
        connection.setsockopt(socket.IPPROTO_TCP, option, milliseconds)


def socket_reset_at_close(connection: Any) -> None:
    """Have the close throw away what is unsent, and show it to the peer as a reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
