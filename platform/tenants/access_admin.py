"""Users, roles and the audit log in the admin's own look."""

# Unfold and auditlog carry no types.
# mypy: disallow-subclassing-any=False, disallow-untyped-decorators=False

from typing import Any

from auditlog.admin import LogEntryAdmin as AuditlogLogEntryAdmin
from auditlog.models import LogEntry
from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group, User
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

admin.site.unregister(User)
admin.site.unregister(Group)
admin.site.unregister(LogEntry)


@admin.register(User)
class UserAdmin(DjangoUserAdmin, ModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    """Users; only a superuser makes superusers, whatever a role may edit."""

    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = ("username", "email", "is_active", "is_staff", "is_superuser", "last_login")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Keep `is_superuser` and single permissions out of the hands of other roles."""
        fixed = super().get_readonly_fields(request, obj)
        if request.user.is_superuser:
            return fixed
        return (*fixed, "is_superuser", "user_permissions")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """A superuser (their password, too) is changed by superusers only."""
        if obj is not None and obj.is_superuser and not request.user.is_superuser:
            return False
        return bool(super().has_change_permission(request, obj))

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """As for changes."""
        if obj is not None and obj.is_superuser and not request.user.is_superuser:
            return False
        return bool(super().has_delete_permission(request, obj))


@admin.register(Group)
class GroupAdmin(DjangoGroupAdmin, ModelAdmin):
    """Roles, and further groups that an operator makes."""


@admin.register(LogEntry)
class LogEntryAdmin(AuditlogLogEntryAdmin, ModelAdmin):
    """The audit log: read only for everyone."""
