"""`manage.py prepare`: migrate, and make what the first start needs."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError

from coordination.command import AuditedCommand
from tts.errors import ModelImportFailed
from tts.recognition.whisper import INSTALL
from tts.services import chattts_speak
from voicehost.installation import credentials_path, installation_prepare
from voicehost.state import files_private, state_folder_make

CHATTTS_HINT = f"""To speak with ChatTTS, bring its weights (CC BY-NC 4.0: not for commercial use):
  make run CHATTTS=PATH_OR_HUB_ID    a folder with asset/ in it, or 2Noise/ChatTTS
  The tier realtime computes in int8, which is faster, once a recogniser has listened to them. Where
  it is installed before, it does so in that step (some minutes, once):
  {INSTALL}
"""


class Command(AuditedCommand):
    """Run by `serve` at every start; by hand in production, once per release."""

    help = "Migrate the database; on the first start make an administrator, a tenant and a key."

    def handle(self, *args: Any, **options: Any) -> None:
        """Prepare the installation."""
        with files_private():
            self._prepare()

    def _prepare(self) -> None:
        state_folder_make(settings.VAR_DIR)
        Path(settings.STATIC_ROOT).mkdir(parents=True, exist_ok=True)
        call_command("migrate", verbosity=0, interactive=False)
        credentials, voices = installation_prepare(settings.VAR_DIR)
        if voices:
            self.stdout.write(voices)
        if credentials is not None:
            self.stdout.write(
                "\nFirst start. Shown once, and kept in "
                f"{credentials_path(settings.VAR_DIR)} (mode 0600):\n"
                f"  admin     {credentials.admin_user} / {credentials.admin_password}\n"
                f"  tenant    {credentials.tenant}\n"
                f"  API key   {credentials.api_key}\n"
            )
        self._chattts(settings.ENVIRONMENT.chattts, first=credentials is not None)

    def _chattts(self, place: str, *, first: bool) -> None:
        """Speak with the checkpoint that was asked for, or say once how to ask for one."""
        if place:
            try:
                self.stdout.write(chattts_speak(place, self._told))
            except ModelImportFailed as error:
                raise CommandError(f"CHATTTS={place}: {error}") from error
        elif first:
            self.stdout.write(CHATTTS_HINT)

    def _told(self, line: str) -> None:
        """Said at once, also where the output is a file: it takes minutes."""
        self.stdout.write(line)
        self.stdout.flush()
