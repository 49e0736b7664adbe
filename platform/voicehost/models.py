"""Settings of the whole platform that an administrator changes while it runs."""

from django.db import models


class PlatformSettings(models.Model):
    """The one row of settings."""

    public_catalogue = models.BooleanField(
        "list models and voices without a key",
        default=False,
        help_text="Some clients (Open WebUI) ask for voices without sending their key.",
    )
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = verbose_name_plural = "platform settings"
        constraints = [
            models.CheckConstraint(condition=models.Q(pk=1), name="platform_settings_is_one_row")
        ]

    def __str__(self) -> str:
        return "Platform settings"
