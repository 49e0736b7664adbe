"""The Django project: settings, URLs, ASGI, Celery, the API object and wiring."""
