"""Which refusals a client is to blame for, and when they end its socket."""

from tts.speech.errors import ContextEnded, InvalidParameter, InvalidUnicode, TooManyContexts

VIOLATIONS = frozenset(
    {
        # Frames that are no messages of the protocol.
        "invalid_json",
        "invalid_message",
        InvalidUnicode.code,
        # Messages that are, with what they never may hold.
        InvalidParameter.code,
        # More contexts than the socket was told it may open, text after the client's own end.
        TooManyContexts.code,
        ContextEnded.code,
    }
)
"""The codes of what a client could have known without us.

All others count for nothing, since they depend on load, on limits or on what is installed:
`buffer_full`, every rate limit, a full queue, a model that is not there.
"""


class Violations:
    """Counts them, up to `most`; each message that is taken makes up for one."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._count = 0

    def refused(self, code: str | None) -> bool:
        """A message was refused with this code; returns whether the client is to be cut off."""
        if code not in VIOLATIONS:
            return False
        self._count += 1
        return self._count >= self._most

    def taken(self) -> None:
        """A message was good."""
        self._count = max(0, self._count - 1)
