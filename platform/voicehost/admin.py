"""The platform's settings in the admin: one row, which opens at once."""

from typing import Any

from auditlog.registry import auditlog
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseRedirect
from django.urls import reverse

from models_registry.adminsite import ModelAdmin
from voicehost import schedule_admin  # noqa: F401 (registers the scheduled tasks)
from voicehost.models import PlatformSettings
from voicehost.services import platform_settings_update

auditlog.register(PlatformSettings, exclude_fields=["updated_at"])
admin.site.index_title = "Overview"


@admin.register(PlatformSettings)
class PlatformSettingsAdmin(ModelAdmin[PlatformSettings]):
    """Edits the one row; there is nothing to add or delete."""

    fields = ("public_catalogue", "updated_at")
    readonly_fields = ("updated_at",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """The row is made when it is first opened."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Settings cannot be without."""
        return False

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, str] | None = None
    ) -> HttpResponse:
        """Open the row instead of a list of one."""
        # The migrations made the row; a flushed database has none.
        row, _ = PlatformSettings.objects.get_or_create(pk=1)
        return HttpResponseRedirect(
            reverse("admin:voicehost_platformsettings_change", args=[row.pk])
        )

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Store through the service, which announces the change."""
        platform_settings_update(public_catalogue=obj.public_catalogue)
