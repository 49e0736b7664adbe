"""Short-lived tokens for browsers: they stand for an API key without showing it.

A token is a JWT (RFC 7519), HS256, signed with a key derived from SECRET_KEY.
It names the API key, so revoking the key ends its tokens at once.
"""

import secrets
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import jwt

from coordination.clipping import clipped
from coordination.epoch import ConfigCache
from tenants.choices import Scope
from tenants.errors import InvalidValue, TokenInvalid
from tenants.hashing import key_derive
from tenants.principal import Principal
from tenants.selectors import principal_by_key

AUDIENCE = "voicehost.speech"
TTL_MIN = 5
TTL_MAX = 600
_CLAIMS = ["sub", "aud", "exp", "iat", "jti", "scopes"]


def is_token(secret: str) -> bool:
    """Whether `secret` has a token's form: three parts joined by full stops; a key has none."""
    return secret.count(".") == 2


def token_issue(
    principal: Principal,
    ttl_seconds: int = 60,
    *,
    scopes: Iterable[Scope] = (Scope.SPEECH,),
    now: datetime | None = None,
) -> str:
    """A token that ends after `ttl_seconds` (5 to 600), or with the key where that is earlier.

    `principal` needs the scope `tokens` and every scope it passes on; `tokens`
    itself cannot be passed on. Raises ScopeMissing or InvalidValue.
    """
    principal.require_scope(Scope.TOKENS)
    passed = sorted({Scope(scope) for scope in scopes})
    if not passed:
        raise InvalidValue("A token needs at least one scope.", param="scopes")
    if Scope.TOKENS in passed:
        raise InvalidValue("A token cannot issue tokens.", param="scopes")
    for scope in passed:
        principal.require_scope(scope)
    if not TTL_MIN <= ttl_seconds <= TTL_MAX:
        raise InvalidValue(
            f"ttl_seconds is {clipped(ttl_seconds)}; it must be from {TTL_MIN} to {TTL_MAX}.",
            param="ttl_seconds",
        )
    issued = now or datetime.now(UTC)
    ends = issued + timedelta(seconds=ttl_seconds)
    if principal.expires_at is not None:
        ends = min(ends, principal.expires_at)
    return jwt.encode(
        {
            "sub": principal.key_id,
            "aud": AUDIENCE,
            "iat": int(issued.timestamp()),
            "exp": int(ends.timestamp()),
            "jti": secrets.token_hex(8),
            "scopes": [scope.value for scope in passed],
        },
        key_derive("token"),
        algorithm="HS256",
    )


async def token_verify(
    token: str | None, cache: ConfigCache, *, now: datetime | None = None
) -> Principal:
    """The caller for whom `token` stands, with the token's scopes and end.

    Raises TokenInvalid, or the AuthenticationError of a key that is no longer good.
    """
    moment = now or datetime.now(UTC)
    try:
        claims = jwt.decode(
            token or "",
            key_derive("token"),
            algorithms=["HS256"],
            audience=AUDIENCE,
            # Times are compared below, with the caller's clock.
            options={"require": _CLAIMS, "verify_exp": False, "verify_iat": False},
        )
        ends = datetime.fromtimestamp(int(claims["exp"]), UTC)
        granted = frozenset(Scope(name) for name in claims["scopes"])
    except (jwt.InvalidTokenError, ValueError, TypeError, OverflowError) as error:
        raise TokenInvalid from error
    if ends <= moment:
        raise TokenInvalid
    principal = await principal_by_key(str(claims["sub"]), cache=cache, now=moment)
    # A scope that the key has lost since is gone from its tokens as well.
    return replace(principal, scopes=granted & principal.scopes, expires_at=ends)
