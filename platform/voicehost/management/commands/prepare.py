"""`manage.py prepare`: migrate, and make what the first start needs."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand

from voicehost.installation import credentials_path, installation_prepare


class Command(BaseCommand):
    """Run by `serve` at every start; by hand in production, once per release."""

    help = "Migrate the database; on the first start make an administrator, a tenant and a key."

    def handle(self, *args: Any, **options: Any) -> None:
        """Prepare the installation."""
        Path(settings.STATIC_ROOT).mkdir(parents=True, exist_ok=True)
        call_command("migrate", verbosity=0, interactive=False)
        credentials, voices = installation_prepare(settings.VAR_DIR)
        if voices:
            self.stdout.write(voices)
        if credentials is None:
            return
        self.stdout.write(
            "\nFirst start. Shown once, and kept in "
            f"{credentials_path(settings.VAR_DIR)} (mode 0600):\n"
            f"  admin     {credentials.admin_user} / {credentials.admin_password}\n"
            f"  tenant    {credentials.tenant}\n"
            f"  API key   {credentials.api_key}\n"
        )
