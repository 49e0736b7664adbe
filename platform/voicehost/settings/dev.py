"""One machine: what `make run` uses. Debug pages stay off, since people use it as it stands."""

from voicehost.hosts import LocalHosts
from voicehost.settings.base import *  # noqa: F403
from voicehost.settings.base import ENVIRONMENT

DEBUG = False
# `voicehost.middleware.host_guard` decides instead: Django's list cannot say "any address".
ALLOWED_HOSTS = ["*"]
LOCAL_HOSTS = LocalHosts.of(ENVIRONMENT.host, ENVIRONMENT.allowed_hosts)
EMBEDDED_REDIS_ALLOWED = True
