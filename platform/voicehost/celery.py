"""The Celery application; its processes never import torch."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "voicehost.settings.dev")

app = Celery("voicehost")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
