"""Changing the platform's settings."""

from django.db import transaction

from coordination.epoch import epoch_bump
from voicehost.models import PlatformSettings


@transaction.atomic
def platform_settings_update(*, public_catalogue: bool) -> PlatformSettings:
    """Store the settings; in force in every process within a second."""
    row, _ = PlatformSettings.objects.get_or_create(pk=1)
    row.public_catalogue = public_catalogue
    row.full_clean()
    row.save()
    epoch_bump()
    return row
