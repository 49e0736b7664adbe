"""Who opens a socket: what the handshake says about key, token, subprotocol and origin."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

from django.conf import settings

from tenants.hashing import MARK
from tenants.tokens import is_token
from tts.consumers.protocol import KEY_SUBPROTOCOL_PREFIX, SUBPROTOCOL
from tts.headers import bearer_of, header_of


@dataclass(frozen=True, slots=True)
class SocketCredentials:
    """The secret (empty when there is none) and the subprotocol to answer with.

    `key_in_address`: `?token=` holds no token, or something else a key; it is nobody's `secret`
    then.
    """

    secret: str
    key_in_address: bool
    subprotocol: str | None
    unknown_subprotocol: bool

    @classmethod
    def read(cls, scope: dict[str, Any]) -> "SocketCredentials":
        """Read a handshake: the Authorization header, `?token=`, or `tts.key.<key>`."""
        offered = list(scope.get("subprotocols") or ())
        keys = [
            name.removeprefix(KEY_SUBPROTOCOL_PREFIX)
            for name in offered
            if name.startswith(KEY_SUBPROTOCOL_PREFIX)
        ]
        names = [name for name in offered if not name.startswith(KEY_SUBPROTOCOL_PREFIX)]
        query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
        token = query.get("token", [""])[0]
        # Addresses end up in histories and in the logs of proxies: no key may be in one.
        key_in_address = (bool(token) and not is_token(token)) or any(
            value.startswith(MARK) for values in query.values() for value in values
        )
        secret = bearer_of(header_of(scope, "authorization")) or token or (keys[0] if keys else "")
        # A browser drops a connection whose answer names no protocol it offered.
        return cls(
            secret="" if key_in_address else secret,
            key_in_address=key_in_address,
            subprotocol=SUBPROTOCOL if SUBPROTOCOL in names else None,
            unknown_subprotocol=bool(names) and SUBPROTOCOL not in names,
        )


def origin_allowed(scope: dict[str, Any]) -> bool:
    """Whether the page that opens the socket may: our own, or one of CORS_ORIGINS.

    Programs send no Origin; browsers always do and cannot fake it.
    """
    origin = header_of(scope, "origin")
    if not origin:
        return True
    if origin in settings.CORS_ALLOWED_ORIGINS:
        return True
    host = urlsplit(origin).netloc
    return bool(host) and host == header_of(scope, "host")
