"""What a key may be used for, and what a tier may ask of the engines."""

from django.db import models


class Scope(models.TextChoices):
    """What an API key (or a token made from it) may be used for."""

    SPEECH = "speech", "Synthesise speech"
    VOICES = "voices", "Read and manage voices"
    JOBS = "jobs", "Order and fetch long recordings"
    USAGE = "usage", "Read usage"
    TOKENS = "tokens", "Issue short-lived tokens"


class TierPriority(models.TextChoices):
    """Order in which waiting requests are served; the names are the engine's."""

    REALTIME = "realtime", "Real time"
    STANDARD = "standard", "Standard"
    OFFLINE = "offline", "Offline"


class TierProfile(models.TextChoices):
    """Quality against speed; the values are the engine's."""

    REALTIME = "realtime", "Real time"
    STANDARD = "standard", "Standard"
    HQ = "hq", "High quality"
