"""App configuration."""

from django.apps import AppConfig


class TtsConfig(AppConfig):
    """Speech: voices, synthesis, streaming."""

    name = "tts"
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = "Speech"

    def ready(self) -> None:
        """Have every change of a voice audited, embeddings left out."""
        from auditlog.registry import auditlog

        from tts.models import Voice

        auditlog.register(Voice, exclude_fields=["payload"])
