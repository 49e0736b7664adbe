#!/usr/bin/env python
"""Django's command line for Voicehost."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
# `platform/` is a source root, not a package (docs/adr/0003): the standard
# library keeps its `platform` module, and `voicehost` and `tenants` live there.
sys.path[:0] = [str(ROOT), str(ROOT / "platform")]

from django.core.exceptions import ImproperlyConfigured  # noqa: E402
from django.core.management import execute_from_command_line  # noqa: E402


def main() -> None:
    """Run a management command with the settings of `DJANGO_SETTINGS_MODULE`."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "voicehost.settings.dev")
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        # Whoever runs this is told what to change, not where it was noticed.
        sys.exit(f"Not configured: {error}")
    except Exception as error:
        # Imported here: the project's package needs the settings that were named above.
        from voicehost.full_disk import full_disk_line

        line = full_disk_line(error)
        if line is None:
            raise
        # What the disk did not take would be tried again at the end, and end in another error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(line)


if __name__ == "__main__":
    main()
