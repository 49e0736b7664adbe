"""App configuration."""

from django.apps import AppConfig


class TenantsConfig(AppConfig):
    """Tenants, API keys, quality tiers and limits."""

    name = "tenants"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Tell the audit log what to follow."""
        from tenants.audit import audit_register

        audit_register()
