"""The project as an app, so that its management commands are found."""

from django.apps import AppConfig


class VoicehostConfig(AppConfig):
    """Project-wide commands: serve, prepare, run_web, run_synthesizer, bench."""

    name = "voicehost"

    def ready(self) -> None:
        """Let the form of a route offer the tiers that tenants have."""
        from models_registry.forms import RouteForm
        from tenants.selectors import tier_names

        RouteForm.tier_names = staticmethod(tier_names)
