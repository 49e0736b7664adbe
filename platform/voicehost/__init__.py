"""The Django project: settings, URLs, ASGI, Celery, the API object and wiring."""

from voicehost.celery import app as celery_app

__all__ = ["celery_app"]
