"""Structured logs: request ids on every line, never a tenant's text or a key."""

import logging
import logging.config
from collections.abc import MutableMapping
from typing import Any

import structlog

PROBES = ("/healthz", "/readyz")
"""Asked several times a second while something starts; what they answer is no error.

One that asks for a host that is not served gets no answer of theirs, and is logged.
"""


def without_probes(
    logger: Any, method: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """A structlog processor that drops the lines of probes' requests."""
    if str(event.get("request", "")).endswith(PROBES) and "refused_host" not in event:
        raise structlog.DropEvent
    return event


class NoProbes(logging.Filter):
    """Drops Django's own "Service Unavailable: /readyz"."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the line is another's."""
        return not record.getMessage().endswith(PROBES)


def logging_config(*, level: str, json: bool) -> dict[str, Any]:
    """Configure structlog and return the standard library's configuration for it.

    `json` writes one object a line for machines; otherwise lines are for people.
    """
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.processors.StackInfoRenderer(),
    ]
    structlog.configure(
        processors=[
            *shared,
            without_probes,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    renderer: Any = (
        structlog.processors.JSONRenderer() if json else structlog.dev.ConsoleRenderer(colors=False)
    )
    config: dict[str, Any] = {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "structured": {
                "()": structlog.stdlib.ProcessorFormatter,
                "processors": [
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    structlog.processors.format_exc_info,
                    renderer,
                ],
                "foreign_pre_chain": shared,
            }
        },
        "filters": {"no_probes": {"()": NoProbes}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "structured"}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # Access lines and tracebacks of these carry paths and bodies, not for INFO.
            "daphne": {"level": "WARNING"},
            "django.channels.server": {"level": "WARNING"},
            "django.request": {"filters": ["no_probes"]},
            # An error with a traceback; the request's own line says it (`voicehost.api`).
            "django.security.DisallowedHost": {"level": "CRITICAL"},
            "django_structlog": {"level": "WARNING"},
            "httpx": {"level": "WARNING"},
        },
    }
    logging.config.dictConfig(config)
    return config
