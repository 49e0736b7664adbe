"""App configuration."""

from django.apps import AppConfig


class TenantsConfig(AppConfig):
    """Tenants, API keys, quality tiers and limits."""

    name = "tenants"
    default_auto_field = "django.db.models.BigAutoField"
