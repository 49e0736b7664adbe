"""What a connection says to a request that it does not take; both servers write it themselves.

The envelope is that of every error of the API. The connection ends after it.
"""

import json
from http import HTTPStatus

from voicehost.server.config import WebConfig


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


def _response(status: HTTPStatus, code: str, message: str) -> bytes:
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
    body = json.dumps({"error": error}).encode()
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body
