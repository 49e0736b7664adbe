"""The audit log in the admin: who changed what, and when."""

# Unfold and auditlog carry no types.
# mypy: disallow-subclassing-any=False, disallow-untyped-decorators=False

from collections.abc import Iterator
from typing import Any

from auditlog.admin import LogEntryAdmin as AuditlogLogEntryAdmin
from auditlog.models import LogEntry
from django.contrib import admin
from django.contrib.contenttypes.models import ContentType
from django.template.loader import render_to_string
from django.utils.formats import localize
from django.utils.text import Truncator, capfirst
from django.utils.timezone import localtime
from unfold.admin import ModelAdmin
from unfold.decorators import display

from tenants.audit import entry_who

SUMMARY_CHARACTERS = 160

admin.site.unregister(LogEntry)


class ThingFilter(admin.SimpleListFilter):
    """By the kind of thing that was changed."""

    title = "thing"
    parameter_name = "thing"

    def lookups(self, request: Any, model_admin: Any) -> list[tuple[str, str]]:
        """The kinds that the log has."""
        kinds = ContentType.objects.filter(pk__in=LogEntry.objects.values("content_type"))
        return sorted(
            ((str(kind.pk), capfirst(kind.name)) for kind in kinds), key=lambda kind: kind[1]
        )

    def queryset(self, request: Any, queryset: Any) -> Any:
        """Entries of the chosen kind."""
        known = {key for key, _ in self.lookup_choices}
        chosen = self.value()
        return queryset.filter(content_type_id=chosen) if chosen in known else queryset


@admin.register(LogEntry)
class LogEntryAdmin(AuditlogLogEntryAdmin, ModelAdmin):
    """The audit log: read only for everyone."""

    list_display = ("created", "who", "action_label", "thing", "name", "summary")
    list_filter = ("action", ThingFilter, ("actor", admin.RelatedOnlyFieldListFilter))
    list_filter_submit = True
    list_per_page = 50
    search_fields = ("object_repr", "actor__username", "changes", "additional_data")
    search_help_text = "Name, user, command or change"
    readonly_fields = ("created", "who", "action_label", "resource_url", "remote_addr", "changed")
    fieldsets = (
        (None, {"fields": ("created", "who", "remote_addr", "action_label", "resource_url")}),
        ("Changes", {"fields": ("changed",)}),
    )

    @display(description="When", ordering="timestamp")
    def created(self, entry: Any) -> str:
        """As every moment in the admin."""
        return str(localize(localtime(entry.timestamp)))

    @display(description="Who", ordering="actor__username")
    def who(self, entry: Any) -> str:
        """The user, the command with who ran it, or the key that came over the API."""
        return entry_who(entry)

    @display(
        description="Action",
        ordering="action",
        label={"create": "success", "update": "info", "delete": "danger"},
    )
    def action_label(self, entry: Any) -> str:
        """Create, update or delete, coloured."""
        return str(entry.get_action_display())

    @display(description="Thing", ordering="content_type__model")
    def thing(self, entry: Any) -> str:
        """Tenant, API key, route and so on."""
        return str(capfirst(entry.content_type.name))

    @display(description="Name", ordering="object_repr")
    def name(self, entry: Any) -> str:
        """What it was called then."""
        return str(entry.object_repr)

    @display(description="Changes")
    def summary(self, entry: Any) -> str:
        """Old and new of what was changed; of what came or went, the name says enough."""
        if entry.action != LogEntry.Action.UPDATE:
            return "–"
        parts = (f"{field}: {old} → {new}" for field, old, new in changes_read(entry))
        return Truncator("; ".join(parts)).chars(SUMMARY_CHARACTERS)

    @display(description="Changes")
    def changed(self, entry: Any) -> str:
        """Every field, as a table."""
        rows = list(changes_read(entry))
        return render_to_string("tenants/admin/changes.html", {"rows": rows})


def changes_read(entry: Any) -> Iterator[tuple[str, str, str]]:
    """Field, old and new value of a log entry, as people read them."""
    model = entry.content_type.model_class()
    shown = entry.changes_dict if model is None else entry.changes_display_dict
    fields = () if model is None else model._meta.get_fields()
    backwards = {field.name for field in fields if field.auto_created and not field.concrete}
    for label, values in shown.items():
        if label not in backwards and len(values) == 2:
            old, new = ("–" if value in ("None", "") else str(value) for value in values)
            yield capfirst(label.replace("_", " ")), old, new
    for field, change in entry.changes_dict.items():
        if isinstance(change, dict):  # {"type": "m2m", "operation": "add", "objects": [...]}
            names = ", ".join(str(item) for item in change["objects"])
            pair = (names, "–") if change["operation"] == "delete" else ("–", names)
            yield capfirst(field.replace("_", " ")), *pair
