"""Settings that every installation shares. The environment is read in `voicehost.env` only."""

from typing import Any

from corsheaders.defaults import default_headers

from voicehost.addresses import celery_broker_url, database_config
from voicehost.env import ROOT, environment_read
from voicehost.hosts import LocalHosts
from voicehost.logs import logging_config
from voicehost.object_storage import shard_storage_config
from voicehost.settings.unfold import UNFOLD as UNFOLD

ENVIRONMENT = environment_read()
VAR_DIR = ENVIRONMENT.var_dir
SECRET_KEY = ENVIRONMENT.secret_key
ALLOWED_HOSTS = list(ENVIRONMENT.allowed_hosts)
LOCAL_HOSTS: LocalHosts | None = None
CSRF_TRUSTED_ORIGINS = list(ENVIRONMENT.csrf_trusted_origins)

INSTALLED_APPS = [
    # Its other config would put a site of its own in the place of ours.
    "unfold.apps.BasicAppConfig",
    "unfold.contrib.filters",
    "unfold.contrib.forms",
    "voicehost.admin_config.VoicehostAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "corsheaders",
    "channels",
    "ninja",
    "auditlog",
    "django_celery_beat",
    "django_prometheus",
    "django_structlog",
    "tenants",
    "models_registry",
    "tts",
    "monitoring",
    "studio",
    "voicehost",
]
MIDDLEWARE = [
    "django_prometheus.middleware.PrometheusBeforeMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "voicehost.middleware.RequestLog",
    "corsheaders.middleware.CorsMiddleware",
    "voicehost.middleware.host_guard",
    "voicehost.middleware.method_envelope",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "auditlog.middleware.AuditlogMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "csp.middleware.CSPMiddleware",
    "django_prometheus.middleware.PrometheusAfterMiddleware",
]
ROOT_URLCONF = "voicehost.urls"
ASGI_APPLICATION = "voicehost.asgi.application"
TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        # Before the apps' own, so that a template of the admin's library can be replaced.
        "DIRS": [ROOT / "platform" / "voicehost" / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

DATABASES: dict[str, Any] = {"default": database_config(ENVIRONMENT.database_url)}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    # WAL lets readers go on while one process writes; IMMEDIATE takes the write
    # lock at BEGIN, where the busy timeout applies, instead of failing in mid-transaction.
    DATABASES["default"]["OPTIONS"] = {
        "timeout": 20,
        "transaction_mode": "IMMEDIATE",
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    }
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

STORAGES: dict[str, Any] = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    "shards": shard_storage_config(ENVIRONMENT),
}
# What S3 has of shards is fetched to here before it is used.
SHARD_CACHE_DIR = VAR_DIR / "shard-cache"

REDIS_URL = ENVIRONMENT.redis_url
CHANNEL_LAYERS: dict[str, Any] = {
    "default": {
        "BACKEND": "channels_redis.core.RedisChannelLayer",
        "CONFIG": {
            "hosts": [{"address": REDIS_URL}],
            "prefix": "vh:layer",
            # Seconds. A process that died leaves no group by itself; those that live join again.
            "group_expiry": 60,
        },
    }
}
CELERY_BROKER_URL = celery_broker_url(REDIS_URL)
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_TRACK_STARTED = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_MAX_TASKS_PER_CHILD = 1000
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# Such a task cannot be acknowledged any more: it comes again, and must not run beside itself then.
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = True
CELERY_BROKER_TRANSPORT_OPTIONS = {"visibility_timeout": 4 * 3600, "global_keyprefix": "vh:celery:"}
CELERY_TASK_SOFT_TIME_LIMIT = 3 * 3600
CELERY_TASK_TIME_LIMIT = 3 * 3600 + 300
CELERY_BEAT_SCHEDULER = "django_celery_beat.schedulers:DatabaseScheduler"
CELERY_TIMEZONE = "UTC"

LANGUAGE_CODE = "en-us"
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True
FORMAT_MODULE_PATH = "voicehost.formats"

STATIC_URL = "/static/"
STATIC_ROOT = VAR_DIR / "static"
WHITENOISE_USE_FINDERS = True
LOCALE_PATHS = [ROOT / "platform" / "voicehost" / "locale"]

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        # Unfold's Alpine templates evaluate expressions and set inline styles.
        "script-src": ["'self'", "'unsafe-inline'", "'unsafe-eval'"],
        "style-src": ["'self'", "'unsafe-inline'"],
        "img-src": ["'self'", "data:"],
        "media-src": ["'self'", "blob:"],
        "connect-src": ["'self'"],
        "frame-ancestors": ["'none'"],
    }
}

CORS_ALLOWED_ORIGINS = list(ENVIRONMENT.cors_origins)
CORS_URLS_REGEX = r"^/v1/.*$"
# OpenAI's browser client describes itself in headers of its own.
CORS_ALLOW_HEADERS = (
    *default_headers,
    "openai-organization",
    "openai-project",
    *(
        f"x-stainless-{name}"
        for name in (
            "arch",
            "helper-method",
            "lang",
            "os",
            "package-version",
            "retry-count",
            "runtime",
            "runtime-version",
            "timeout",
        )
    ),
)
CORS_EXPOSE_HEADERS = [
    "server-timing",
    "x-request-id",
    "x-quality-tier",
    "x-model-version",
    "retry-after",
    "retry-after-ms",
    "x-ratelimit-limit-requests",
    "x-ratelimit-remaining-requests",
    "x-ratelimit-reset-requests",
    "x-ratelimit-limit-characters",
    "x-ratelimit-remaining-characters",
    "x-ratelimit-reset-characters",
]

# A careless client puts anything there, its key too.
DJANGO_STRUCTLOG_TRUST_UPSTREAM_REQUEST_ID = False
DJANGO_STRUCTLOG_TRUST_UPSTREAM_CORRELATION_ID = False
LOGGING_CONFIG = None
LOGGING = logging_config(level=ENVIRONMENT.log_level, json=ENVIRONMENT.log_json)
PROMETHEUS_EXPORT_MIGRATIONS = False
