"""Management commands that change something: the audit log says which, and who ran them."""

import os
import pwd
from typing import Any

from auditlog.context import set_extra_data
from django.core.management.base import BaseCommand

COMMAND_KEY = "command"
"""Where an entry of the audit log, in its additional data, names the command."""


class AuditedCommand(BaseCommand):
    """A command whose changes are recorded as made by `actor`."""

    @property
    def actor(self) -> str:
        """Command and user, such as `command:route_set by root`."""
        name = type(self).__module__.rpartition(".")[2]
        return f"command:{name} by {os_user()}"

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Run it."""
        with set_extra_data({"additional_data": {COMMAND_KEY: self.actor}}):
            return super().execute(*args, **options)


def os_user() -> str:
    """Whom this process runs as; the environment is not asked, since anybody can set it.

    Containers may run as a number that has no name.
    """
    number = os.geteuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"uid {number}"
