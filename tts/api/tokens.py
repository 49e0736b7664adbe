"""Short-lived tokens, so that a browser never holds a key."""

from datetime import UTC, datetime, timedelta

from django.http import HttpRequest
from ninja import Router, Status

from coordination.clipping import clipped
from tenants.choices import Scope
from tenants.errors import InvalidValue
from tenants.tokens import token_issue
from tts.api.auth import KeyAuth, caller_of
from tts.api.schemas import ErrorEnvelope, TokenObject, TokenRequest

router = Router(tags=["Tokens"], auth=KeyAuth())


@router.post(
    "/tokens",
    response={
        201: TokenObject,
        **dict.fromkeys((400, 401, 403, 413, 415, 503), ErrorEnvelope),
    },
    summary="Issue a short-lived token",
)
async def token_create(
    request: HttpRequest, body: TokenRequest | None = None
) -> Status[TokenObject]:
    """A token that stands for the key, for `ws /v1/audio/speech/stream?token=…` and this API."""
    caller = caller_of(request)
    assert caller is not None  # noqa: S101 - KeyAuth lets nobody else in
    wanted = body or TokenRequest()
    now = datetime.now(UTC)
    scopes = _scopes(wanted.scopes)
    token = token_issue(caller, wanted.ttl_seconds, scopes=scopes, now=now)
    ends = now + timedelta(seconds=wanted.ttl_seconds)
    if caller.expires_at is not None:
        ends = min(ends, caller.expires_at)
    issued = TokenObject(
        token=token, expires_at=int(ends.timestamp()), scopes=[scope.value for scope in scopes]
    )
    return Status(201, issued)


def _scopes(names: list[str]) -> list[Scope]:
    unknown = [name for name in names if name not in Scope.values]
    if unknown:
        raise InvalidValue(
            f"There is no scope {clipped(unknown[0])}; scopes are: {', '.join(Scope.values)}.",
            param="scopes",
        )
    return sorted({Scope(name) for name in names})
