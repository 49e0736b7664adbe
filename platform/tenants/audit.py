"""What the audit log follows: who changed which tenant, key, tier, user or role, and when."""

from typing import Any

from auditlog.registry import auditlog
from django.contrib.auth.models import Group, User

from coordination.command import COMMAND_KEY
from tenants.models import ApiKey, QualityTier, Tenant


def audit_register() -> None:
    """Register the models; digests and passwords never reach the log."""
    auditlog.register(Tenant)
    auditlog.register(QualityTier)
    auditlog.register(ApiKey, exclude_fields=["digest", "last_used_at"])
    auditlog.register(User, exclude_fields=["password", "last_login"], m2m_fields={"groups"})
    auditlog.register(Group, m2m_fields={"permissions"})


def entry_who(entry: Any) -> str:
    """Who made the change of a log entry.

    A user, the command and who ran it, or the key that came over the API;
    "system" is what the platform does by itself.
    """
    if entry.actor:
        return str(entry.actor.get_username())
    more = entry.additional_data or {}
    if more.get(COMMAND_KEY):
        return str(more[COMMAND_KEY])
    key = more.get("changed_by")
    return f"key {key}" if key else "system"
