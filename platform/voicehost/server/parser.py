"""h11's parser of requests, within limits of ours."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import h11

from voicehost.server.config import WebConfig
from voicehost.server.head import Head, HeadAnswered, head_taken
from voicehost.server.refusal import MAX_HEADERS, headers_too_large, line_too_long

Event = Any
"""Of h11: a part of a request, or a mark that there is none now; or HeadAnswered."""

_TOO_LONG = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
_WITHOUT_BODY = (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)
_SEPARATORS = 4
"""How many bytes a header's line has beside its name and value."""


class WatchedParser(h11.Connection):
    """Shows each event to `takes` first; what that does not take, uvicorn never sees."""

    def __init__(self, takes: Callable[[Event], bool], limits: WebConfig) -> None:
        super().__init__(h11.SERVER, limits.max_head)
        self._takes = takes
        self._limits = limits
        self.chunked = False
        """Whether the response that was begun is sent in chunks."""
        self.failure = ""
        """What could not be read."""
        self.too_long = False
        """Whether that was too long, not wrong."""

    def next_event(self) -> Any:
        """The next event; NEED_DATA in place of one that is not taken."""
        try:
            event: Event = super().next_event()
        except h11.RemoteProtocolError as error:
            # Without the bytes themselves, which may be many, or a key.
            self.failure = str(error).partition("bytearray")[0].partition("(")[0].rstrip(" :")
            self.too_long = error.error_status_hint == _TOO_LONG
            raise
        if isinstance(event, h11.Request):
            try:
                event = self._head_taken(event)
            except HeadAnswered as answered:
                event = answered
        return event if self._takes(event) else h11.NEED_DATA

    def send(self, event: Any) -> Any:
        """Serialise an event of the response."""
        if isinstance(event, h11.Response):
            lengthless = all(name != b"content-length" for name, _ in event.headers)
            self.chunked = lengthless and event.status_code not in _WITHOUT_BODY
        return super().send(event)

    @property
    def line_is_whole(self) -> bool:
        """Whether what is not read yet has a whole request line."""
        return b"\n" in self.trailing_data[0]

    def _head_taken(self, event: h11.Request) -> h11.Request:
        """The request with a path for its target; raises HeadAnswered.

        h11 looks at the length of incomplete heads only.
        """
        headers = list(event.headers)
        line = len(event.method) + len(event.target) + len(b"  HTTP/1.1")
        if line > self._limits.max_head:
            raise HeadAnswered(line_too_long(self._limits))
        total = line + sum(len(name) + len(value) + _SEPARATORS for name, value in headers)
        if total > self._limits.max_head or len(headers) > MAX_HEADERS:
            raise HeadAnswered(headers_too_large(self._limits))
        head = head_taken(Head(event.method, event.target, event.http_version, headers))
        if head.target == event.target:
            return event
        return h11.Request(
            method=event.method,
            target=head.target,
            headers=list(head.headers),
            http_version=event.http_version,
        )
