"""Production: secrets must be given, cookies need TLS, the embedded Redis is refused."""

from django.core.exceptions import ImproperlyConfigured

from voicehost.settings.base import *  # noqa: F403
from voicehost.settings.base import ENVIRONMENT

DEBUG = False
EMBEDDED_REDIS_ALLOWED = False
SESSION_COOKIE_SECURE = True
CSRF_COOKIE_SECURE = True
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SECURE_HSTS_SECONDS = 31_536_000
SILENCED_SYSTEM_CHECKS = [
    # Whether other names of the domain have TLS, and browsers' lists know it, is not ours to say.
    "security.W005",
    "security.W021",
    # The proxy redirects; health checks ask the process itself, without TLS.
    "security.W008",
]

REQUIRED = ("SECRET_KEY", "DATABASE_URL", "REDIS_URL", "ALLOWED_HOSTS")

if ENVIRONMENT.embedded_redis:
    raise ImproperlyConfigured(
        "EMBEDDED_REDIS=1 is for one machine and development: set REDIS_URL instead"
    )
_missing = [name for name in REQUIRED if name not in ENVIRONMENT.given]
if _missing:
    raise ImproperlyConfigured(
        f"{', '.join(_missing)} must be set in production (see .env.example)"
    )
