"""The test run: a state folder of its own, in memory where that changes nothing."""

import tempfile
from pathlib import Path

from voicehost.settings.base import *  # noqa: F403
from voicehost.settings.base import DATABASES

DEBUG = False
SECRET_KEY = "test-key-that-is-long-enough-for-hs256-signatures"  # noqa: S105
EMBEDDED_REDIS_ALLOWED = True
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
CELERY_TASK_ALWAYS_EAGER = True
VAR_DIR = Path(tempfile.gettempdir()) / "voicehost-tests"
STATIC_ROOT = VAR_DIR / "static"
# Static files are found, not collected: WhiteNoise must not miss their folder.
WHITENOISE_AUTOREFRESH = True
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    "shards": {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": VAR_DIR / "shards"},
    },
}
SHARD_CACHE_DIR = VAR_DIR / "shard-cache"
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    DATABASES["default"]["NAME"] = ":memory:"
