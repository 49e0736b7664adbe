"""App configuration."""

from django.apps import AppConfig


class StudioConfig(AppConfig):
    """The web studio."""

    name = "studio"
    default_auto_field = "django.db.models.BigAutoField"
