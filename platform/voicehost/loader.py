"""How Celery's processes read the settings."""

from typing import Any

from celery.loaders.app import AppLoader
from django.core.exceptions import ImproperlyConfigured


class SettingsLoader(AppLoader):
    """Ends a process whose settings are wrong with what is wrong, as `manage.py` does."""

    def config_from_object(self, obj: Any, silent: bool = False) -> Any:
        """Read them."""
        try:
            return super().config_from_object(obj, silent=silent)
        except ImproperlyConfigured as error:
            raise SystemExit(f"Not configured: {error}") from error
