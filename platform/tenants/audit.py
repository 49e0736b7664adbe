"""What the audit log follows: who changed which tenant, key, tier, user or role, and when."""

from auditlog.registry import auditlog
from django.contrib.auth.models import Group, User

from tenants.models import ApiKey, QualityTier, Tenant


def audit_register() -> None:
    """Register the models; digests and passwords never reach the log."""
    auditlog.register(Tenant)
    auditlog.register(QualityTier)
    auditlog.register(ApiKey, exclude_fields=["digest", "last_used_at"])
    auditlog.register(User, exclude_fields=["password", "last_login"], m2m_fields={"groups"})
    auditlog.register(Group, m2m_fields={"permissions"})
