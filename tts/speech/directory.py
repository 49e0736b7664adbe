"""Keys, routes and voices as the database has them, through the process's cache."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from coordination.epoch import ConfigCache
from models_registry.selectors import RouteAccess, RoutedVersion, route
from tenants.principal import Principal
from tenants.selectors import principal_authenticate, principal_by_key
from tenants.tokens import is_token, token_verify
from tts.engine.request import VoiceSpec
from tts.selectors import voice_resolve, voices_speaking


class PlatformDirectory:
    """The `Directory` of a running platform."""

    def __init__(self, cache: ConfigCache) -> None:
        self._cache = cache

    async def authenticate(self, secret: str) -> Principal:
        """Whose API key or short-lived token `secret` is; raises AuthenticationError."""
        now = datetime.now(UTC)
        if is_token(secret):
            return await token_verify(secret, self._cache, now=now)
        return await principal_authenticate(secret, cache=self._cache, now=now)

    async def authenticate_again(self, principal: Principal) -> Principal:
        """The key's caller as it is now, with no more scopes than `principal` has."""
        now = datetime.now(UTC)
        found = await principal_by_key(principal.key_id, cache=self._cache, now=now)
        return replace(found, scopes=found.scopes & principal.scopes)

    async def route(self, model: str, principal: Principal) -> RoutedVersion:
        """The version for `model`; raises RouteNotFound."""
        return await route(
            model, principal.key_id, cache=self._cache, access=model_access(principal)
        )

    async def voice(self, name: str, *, tenant_id: str, engine: str) -> VoiceSpec:
        """The voice called `name`; raises VoiceNotFound, VoiceMixInvalid."""
        return await voice_resolve(name, tenant_id=tenant_id, engine=engine, cache=self._cache)

    async def voices_speaking(self, language: str, *, tenant_id: str, engine: str) -> Sequence[str]:
        """Names of voices that speak `language`."""
        return await voices_speaking(language, tenant_id, engine)

    async def epoch(self) -> str:
        """The configuration's epoch, as this process last saw it."""
        return await self._cache.epoch()


def model_access(principal: Principal) -> RouteAccess:
    """The models that the caller may use in one tier or another."""
    tiers = principal.tiers
    return RouteAccess(
        public=not all(tier.allowed_models for tier in tiers),
        named=frozenset(name for tier in tiers for name in tier.allowed_models),
    )
