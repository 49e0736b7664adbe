"""Who calls the API: by key or token, or nobody where the catalogue is public."""

from typing import Any

from django.http import HttpRequest
from ninja.security import HttpBearer

from tenants.principal import Principal
from tts.headers import bearer_of
from tts.runtime import runtime_get


def secret_of(request: HttpRequest) -> str:
    """The secret of the Authorization header, or an empty string."""
    return bearer_of(request.headers.get("Authorization", ""))


class KeyAuth(HttpBearer):
    """Requires an API key or a token; raises the AuthenticationError that says what is wrong."""

    async def __call__(self, request: HttpRequest) -> Any:
        """The caller."""
        return await self.authenticate(request, secret_of(request))

    async def authenticate(self, request: HttpRequest, token: str) -> Principal:
        """Whose key `token` is."""
        return await (await runtime_get()).service.authenticate(token)


class CatalogueAuth(KeyAuth):
    """As KeyAuth; without a key, whoever asks is nobody in particular where that is allowed."""

    async def __call__(self, request: HttpRequest) -> Any:
        """The caller, or ANYBODY."""
        secret = secret_of(request)
        if not secret and await (await runtime_get()).catalogue_is_public():
            return ANYBODY
        return await self.authenticate(request, secret)


class Anybody:
    """A caller without a key; true, since Ninja takes a false one for a refusal."""


ANYBODY = Anybody()


def caller_of(request: HttpRequest) -> Principal | None:
    """The authenticated caller; None for anybody."""
    caller = request.auth  # type: ignore[attr-defined]  # set by Ninja
    return caller if isinstance(caller, Principal) else None
