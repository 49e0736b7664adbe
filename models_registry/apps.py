"""App configuration."""

from django.apps import AppConfig


class ModelsRegistryConfig(AppConfig):
    """Models, versions, shards and routes."""

    name = "models_registry"
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = "Speech models"

    def ready(self) -> None:
        """Have every change of what operators edit audited."""
        from auditlog.registry import auditlog

        from models_registry.models import (
            ModelVersion,
            ProfileCheck,
            Route,
            RouteWeight,
            SpeechModel,
        )

        auditlog.register(SpeechModel)
        auditlog.register(ModelVersion, exclude_fields=["manifest"])
        auditlog.register(ProfileCheck)
        # The buckets follow from the weights, which are audited themselves.
        auditlog.register(Route, exclude_fields=["owners", "salt", "revision"])
        auditlog.register(RouteWeight)
