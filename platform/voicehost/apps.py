"""The project as an app, so that its management commands are found."""

from django.apps import AppConfig


class VoicehostConfig(AppConfig):
    """Project-wide commands: serve, run_synthesizer, bench, doctor."""

    name = "voicehost"
