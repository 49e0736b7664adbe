"""Reading request headers, for consumers and the API alike."""

from collections.abc import Mapping
from typing import Any


def header_of(scope: Mapping[str, Any], name: str) -> str:
    """The first header of this name (lower case, as ASGI gives them), or an empty string."""
    wanted = name.encode()
    for key, value in scope.get("headers", ()):
        if key == wanted:
            return bytes(value).decode("latin-1")
    return ""


def bearer_of(authorization: str) -> str:
    """The secret in an Authorization header's value, or an empty string."""
    scheme, _, secret = authorization.partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else ""
