"""App configuration."""

from django.apps import AppConfig


class ModelsRegistryConfig(AppConfig):
    """Models, versions, shards and routes."""

    name = "models_registry"
    default_auto_field = "django.db.models.BigAutoField"
