"""Reading the platform's settings."""

from django.conf import settings

from coordination.epoch import ConfigCache
from voicehost.models import PlatformSettings


async def catalogue_is_public(cache: ConfigCache) -> bool:
    """Whether models and voices are listed without a key: by environment, or by the admin."""
    if settings.ENVIRONMENT.public_catalogue:
        return True

    async def load() -> bool:
        return await PlatformSettings.objects.filter(pk=1, public_catalogue=True).aexists()

    return await cache.get(("platform", "public_catalogue"), load)
