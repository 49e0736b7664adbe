"""App configuration."""

from django.apps import AppConfig


class MonitoringConfig(AppConfig):
    """Metrics, health and dashboards."""

    name = "monitoring"
    default_auto_field = "django.db.models.BigAutoField"
