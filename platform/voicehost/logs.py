"""Structured logs: request ids on every line, never a tenant's text or a key."""

import logging.config
from typing import Any

import structlog


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
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
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
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "structured"}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # Access lines and tracebacks of these carry paths and bodies, not for INFO.
            "daphne": {"level": "WARNING"},
            "django.channels.server": {"level": "WARNING"},
            "django_structlog": {"level": "WARNING"},
            "httpx": {"level": "WARNING"},
        },
    }
    logging.config.dictConfig(config)
    return config
