"""Bring the roles up to date."""

from typing import Any

from coordination.command import AuditedCommand
from tenants.roles import roles_sync


class Command(AuditedCommand):
    """Create or update the groups that are the platform's roles."""

    help = "Create or update the roles (groups) viewer, operator, tenant manager and owner."

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the service; who is in which group stays as it is."""
        self.stdout.write(f"roles: {', '.join(roles_sync())}")
