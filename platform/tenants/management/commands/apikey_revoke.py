"""Revoke an API key."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from coordination.command import AuditedCommand
from tenants.errors import NotFound
from tenants.selectors import api_key_find
from tenants.services import api_key_revoke


class Command(AuditedCommand):
    """End an API key for good."""

    help = "Revoke an API key; every process refuses it within a second."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the argument."""
        parser.add_argument("prefix", help="prefix of the key (vh_ and 8 characters)")

    def handle(self, *args: Any, **options: Any) -> None:
        """Revoke it; a key that is revoked already stays so."""
        try:
            key = api_key_find(options["prefix"])
        except NotFound as error:
            raise CommandError(error.message) from error
        before = key.revoked_at
        key = api_key_revoke(key=key)
        state = "was already revoked" if before else "is revoked"
        self.stdout.write(f"{key.prefix} of tenant {key.tenant.slug} {state}")
