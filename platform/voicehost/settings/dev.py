"""One machine: what `make run` uses. Debug pages stay off, since people use it as it stands."""

from voicehost.settings.base import *  # noqa: F403

DEBUG = False
EMBEDDED_REDIS_ALLOWED = True
