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

for _name in ("SECRET_KEY", "REDIS_URL", "DATABASE_URL", "ALLOWED_HOSTS"):
    if _name not in ENVIRONMENT.given:
        raise ImproperlyConfigured(f"{_name} must be set in production (see .env.example)")
if ENVIRONMENT.embedded_redis:
    raise ImproperlyConfigured(
        "EMBEDDED_REDIS=1 is for one machine and development: set REDIS_URL instead"
    )
