"""Settings of a web process, checked when made."""

from dataclasses import dataclass

MIB = 2**20


@dataclass(frozen=True, slots=True)
class WebConfig:
    """What a web process listens on, and what a connection may hold.

    `fd` is a listening socket, which the server closes. `grace_seconds` is how
    long running streams may go on after SIGTERM.
    A write that makes no room for `stall_seconds` ends its connection.
    `send_buffer` bounds what the kernel keeps of a connection's output, in
    bytes: it is unsent audio too. `max_body` bounds any request body, and
    `max_message` a WebSocket message, in bytes; reading pauses while
    `max_waiting` messages of a socket wait for their consumer. `max_head` bounds a
    request's line, and its line and headers together, in bytes. A request has to
    be whole `request_seconds` after its first byte, however its client drips it;
    `idle_seconds` without a byte end a connection before.
    """

    fd: int
    grace_seconds: float
    stall_seconds: float = 30.0
    send_buffer: int = MIB // 4
    max_body: int = 32 * MIB
    max_message: int = MIB
    max_waiting: int = 64
    max_head: int = 16 * 1024
    idle_seconds: float = 75.0
    request_seconds: float = 120.0

    def __post_init__(self) -> None:
        if self.fd < 0:
            raise ValueError(f"fd must be an open file descriptor, not {self.fd}")
        positive = (self.stall_seconds, self.idle_seconds, self.request_seconds)
        if self.grace_seconds < 0 or min(positive) <= 0:
            raise ValueError("grace must be at least 0, stall, idle and request seconds above 0")
