"""The Celery application; its processes never import torch."""

import os
import warnings

from celery import Celery
from celery.exceptions import SecurityWarning

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "voicehost.settings.dev")

# Its reason is pickle, which this application does not accept; `serve` says itself that it is root.
warnings.filterwarnings(
    "ignore", r"\s*You're running the worker with superuser privileges", SecurityWarning
)
app = Celery("voicehost", loader="voicehost.loader:SettingsLoader")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
