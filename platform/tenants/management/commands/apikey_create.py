"""Issue an API key."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from coordination.command import AuditedCommand
from tenants.choices import Scope
from tenants.errors import NotFound, TenantError
from tenants.models import Tenant
from tenants.selectors import tenant_find, tier_find
from tenants.services import api_key_issue, tenant_create


class Command(AuditedCommand):
    """Print a new API key, and nothing else, on standard output."""

    help = "Issue an API key for a tenant and print it: it cannot be shown again."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options."""
        parser.add_argument("--tenant", required=True, help="slug or name of the tenant")
        parser.add_argument("--tier", required=True, help="quality tier of the key")
        parser.add_argument("--create", action="store_true", help="create a missing tenant")
        parser.add_argument("--name", default="", help="what the key is for")
        parser.add_argument("--expires-days", type=float, help="days until the key ends")
        parser.add_argument(
            "--scope",
            action="append",
            choices=Scope.values,
            help="may be given several times; without it the key has every scope",
        )

    @transaction.atomic
    def handle(self, *args: Any, **options: Any) -> None:
        """Issue the key; a failure leaves no new tenant behind."""
        try:
            days = options["expires_days"]
            expires = None if days is None else datetime.now(UTC) + timedelta(days=days)
            tier = tier_find(options["tier"])
            _, secret = api_key_issue(
                tenant=_tenant(options["tenant"], create=options["create"]),
                tier=tier,
                name=options["name"],
                scopes=options["scope"],
                expires_at=expires,
            )
        except (OverflowError, ValueError) as error:
            raise CommandError(f"--expires-days {days}: no such day") from error
        except TenantError as error:
            raise CommandError(error.message) from error
        self.stdout.write(secret)
        # A key that could not be shown is none: the failure undoes it.
        self.stdout.flush()


def _tenant(name: str, *, create: bool) -> Tenant:
    try:
        return tenant_find(name)
    except NotFound:
        # A name that several tenants share is not missing.
        if not create or Tenant.objects.filter(name=name).exists():
            raise
        return tenant_create(name=name)
