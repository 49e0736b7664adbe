"""The project as an app, so that its management commands are found."""

from django.apps import AppConfig


class VoicehostConfig(AppConfig):
    """Project-wide commands: serve, prepare, run_web, run_synthesizer, bench."""

    name = "voicehost"
