"""App configuration."""

from django.apps import AppConfig


class TtsConfig(AppConfig):
    """Speech: voices, synthesis, streaming."""

    name = "tts"
    default_auto_field = "django.db.models.BigAutoField"
