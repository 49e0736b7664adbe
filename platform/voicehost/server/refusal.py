"""What a connection says to a request that it does not take; both servers write it themselves.

The envelope is that of every error of the API. The connection ends after it.
"""

import json
from http import HTTPStatus

from voicehost.server.config import WebConfig

MAX_HEADERS = 500
"""How many headers a request may have."""


def too_large(config: WebConfig) -> bytes:
    """The response to a body above `max_body`."""
    message = f"The body is larger than {config.max_body:,} bytes."
    return _response(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "body_too_large", message)


def too_slow(config: WebConfig) -> bytes:
    """The response to a request that is not whole in time."""
    message = (
        f"The request did not arrive within {config.request_seconds:g} seconds, or nothing of it "
        f"for {config.idle_seconds:g}."
    )
    return _response(HTTPStatus.REQUEST_TIMEOUT, "request_timeout", message)


def line_too_long(config: WebConfig) -> bytes:
    """The response to an address above `max_head`."""
    message = f"The request line, with its address, is longer than {config.max_head:,} bytes."
    return _response(HTTPStatus.REQUEST_URI_TOO_LONG, "url_too_long", message)


def headers_too_large(config: WebConfig) -> bytes:
    """The response to headers that are too long together, or too many."""
    message = (
        f"The request line and headers are longer than {config.max_head:,} bytes, or the headers "
        f"more than {MAX_HEADERS}."
    )
    return _response(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "headers_too_large", message)


def malformed(what: str) -> bytes:
    """The response to what is not HTTP as RFC 9112 has it; `what` is a sentence without its end."""
    return _response(HTTPStatus.BAD_REQUEST, "malformed_request", f"{what}.")


def options_of_server() -> bytes:
    """The response to `OPTIONS *`, which asks whether anybody is there (RFC 9110, 9.3.7)."""
    return b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"


def envelope(status: int, code: str, message: str) -> bytes:
    """The body of an error, as the API's own errors are."""
    kind = "invalid_request_error" if status < HTTPStatus.INTERNAL_SERVER_ERROR else "server_error"
    error = {"message": message, "type": kind, "param": None, "code": code}
    return json.dumps({"error": error}).encode()


def _response(status: HTTPStatus, code: str, message: str) -> bytes:
    body = envelope(status, code, message)
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body
