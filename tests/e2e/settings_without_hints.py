"""The settings of one machine, where no message ever reaches a group of the channel layer."""

from typing import Any

from channels_redis.core import RedisChannelLayer  # type: ignore[import-untyped]

from voicehost.settings.dev import *  # noqa: F403
from voicehost.settings.dev import CHANNEL_LAYERS


class DeafLayer(RedisChannelLayer):  # type: ignore[misc]
    """Loses every message to a group."""

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        """Lose it."""


CHANNEL_LAYERS = {
    "default": {**CHANNEL_LAYERS["default"], "BACKEND": f"{__name__}.DeafLayer"},
}
