"""A short-lived token stands for its key, with at most its scopes and no longer than it."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
import pytest
from asgiref.sync import sync_to_async

from coordination.epoch import ConfigCache
from tenants.choices import Scope
from tenants.errors import InvalidValue, KeyRevoked, ScopeMissing, TokenInvalid
from tenants.hashing import key_derive
from tenants.models import ApiKey
from tenants.principal import Principal
from tenants.selectors import principal_authenticate
from tenants.services import api_key_revoke, api_key_update
from tenants.tokens import token_issue, token_verify
from tests.tenants.callers import principal_for

NOW = datetime.now(UTC).replace(microsecond=0)
Issue = Callable[..., tuple[ApiKey, str]]


async def authenticated(
    issue: Issue, cache: ConfigCache, **fields: Any
) -> tuple[ApiKey, Principal]:
    key, secret = await sync_to_async(issue)(**fields)
    return key, await principal_authenticate(secret, cache=cache, now=NOW)


async def test_token_stands_for_its_key(issue: Issue, cache: ConfigCache) -> None:
    key, caller = await authenticated(issue, cache)
    found = await token_verify(token_issue(caller, 60, now=NOW), cache, now=NOW)
    assert (found.key_id, found.tenant_id) == (str(key.pk), caller.tenant_id)
    assert found.tier == caller.tier
    assert found.scopes == {Scope.SPEECH}
    assert found.expires_at == NOW + timedelta(seconds=60)


async def test_token_ends_on_time(issue: Issue, cache: ConfigCache) -> None:
    _, caller = await authenticated(issue, cache)
    token = token_issue(caller, 60, now=NOW)
    await token_verify(token, cache, now=NOW + timedelta(seconds=59))
    with pytest.raises(TokenInvalid):
        await token_verify(token, cache, now=NOW + timedelta(seconds=60))


async def test_revoking_the_key_ends_its_tokens(issue: Issue, cache: ConfigCache) -> None:
    key, caller = await authenticated(issue, cache)
    token = token_issue(caller, 60, now=NOW)
    await token_verify(token, cache, now=NOW)
    await sync_to_async(api_key_revoke)(key=key)
    cache._read_at = float("-inf")
    with pytest.raises(KeyRevoked):
        await token_verify(token, cache, now=NOW)


async def test_scope_that_the_key_lost_is_gone_from_its_tokens(
    issue: Issue, cache: ConfigCache
) -> None:
    key, caller = await authenticated(issue, cache)
    token = token_issue(caller, 60, scopes=[Scope.SPEECH, Scope.VOICES], now=NOW)
    await sync_to_async(lambda: api_key_update(key=key, scopes=["speech", "tokens"]))()
    cache._read_at = float("-inf")
    assert (await token_verify(token, cache, now=NOW)).scopes == {Scope.SPEECH}


def test_token_never_outlives_its_key() -> None:
    caller = principal_for(expires_at=NOW + timedelta(seconds=20))
    claims = jwt.decode(token_issue(caller, 600, now=NOW), options={"verify_signature": False})
    assert claims["exp"] == NOW.timestamp() + 20


@pytest.mark.parametrize("ttl", [-1, 0, 4, 601])
def test_ttl_out_of_range_is_refused(ttl: int) -> None:
    with pytest.raises(InvalidValue, match="from 5 to 600") as caught:
        token_issue(principal_for(), ttl)
    assert caught.value.param == "ttl_seconds"


def test_only_what_the_key_has_is_passed_on() -> None:
    with pytest.raises(ScopeMissing, match="'tokens'"):
        token_issue(principal_for(scopes=frozenset({Scope.SPEECH})))
    caller = principal_for(scopes=frozenset({Scope.SPEECH, Scope.TOKENS}))
    with pytest.raises(ScopeMissing, match="'voices'"):
        token_issue(caller, scopes=[Scope.VOICES])
    for scopes in ([Scope.TOKENS], []):
        with pytest.raises(InvalidValue):
            token_issue(caller, scopes=scopes)


def forged(**changes: Any) -> str:
    claims = {
        "sub": "x",
        "aud": "voicehost.speech",
        "iat": int(NOW.timestamp()),
        "exp": int(NOW.timestamp()) + 60,
        "jti": "1",
        "scopes": ["speech"],
    }
    key = changes.pop("key", None) or key_derive("token")
    algorithm = changes.pop("algorithm", "HS256")
    return jwt.encode({**claims, **changes}, key, algorithm=algorithm)


@pytest.mark.parametrize(
    "make",
    [
        lambda: None,
        lambda: "",
        lambda: "a.b.c",
        lambda: forged(key=key_derive("api-key")),
        lambda: forged(algorithm="HS512", key=key_derive("token") * 2),
        lambda: forged(aud="another"),
        lambda: forged(scopes=["root"]),
        lambda: forged(scopes=7),
        lambda: forged(exp=10**30),
        lambda: jwt.encode({"sub": "x", "aud": "voicehost.speech"}, key_derive("token")),
        lambda: forged()[:-3] + "abc",
    ],
)
async def test_forged_or_broken_token_is_refused(
    make: Callable[[], str | None], cache: ConfigCache
) -> None:
    with pytest.raises(TokenInvalid) as caught:
        await token_verify(make(), cache, now=NOW)
    assert (caught.value.status, caught.value.code) == (401, "invalid_api_key")
