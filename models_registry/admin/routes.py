"""Routes, their weights, and the history of both."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from models_registry import services
from models_registry.admin.common import ReadOnly
from models_registry.adminsite import (
    ErrorsAsMessages,
    ModelAdmin,
    TabularInline,
    column,
    dialog_action,
)
from models_registry.errors import RegistryError
from models_registry.forms import RouteForm, RouteWeightFormSet
from models_registry.models import Route, RouteEvent, RouteWeight
from models_registry.split import BUCKETS, Run, buckets_owned


class RouteWeightInline(TabularInline[RouteWeight, Route]):
    """The split of a route."""

    model = RouteWeight
    formset = RouteWeightFormSet
    fields = ("version", "weight", "share")
    readonly_fields = ("share",)
    extra = 0
    hide_title = True
    verbose_name = "version"
    verbose_name_plural = "traffic split"

    @column("share of callers")
    def share(self, row: RouteWeight) -> str:
        """What the stored weight amounts to."""
        if row._state.adding:
            return "–"
        return _percent(row.route.owners.get(row.version.key, ()))


@admin.register(Route)
class RouteAdmin(ErrorsAsMessages, ModelAdmin[Route]):
    """Public model names and how their traffic is divided."""

    told_errors = (RegistryError,)
    form = RouteForm
    list_display = ("name", "split", "default_tier", "is_public", "revision")
    list_filter = ("is_public", "default_tier")
    list_filter_submit = True
    list_select_related = ("default_tier",)
    search_fields = ("name", "description")
    search_help_text = "Name or description"
    warn_unsaved_form = True
    fieldsets = (
        (None, {"fields": ("name", "description", "default_tier", "is_public")}),
        ("Reason for a change of the split", {"fields": ("note", "seen_revision")}),
    )
    inlines = (RouteWeightInline,)
    actions = ("rollback_selected",)
    actions_detail = ("rollback_one",)

    @column("split")
    def split(self, route: Route) -> str:
        """The shares in force."""
        parts = [f"{key} {_percent(runs)}" for key, runs in route.owners.items()]
        return " · ".join(parts) or "no weights yet"

    def get_readonly_fields(
        self, request: HttpRequest, obj: Route | None = None
    ) -> tuple[str, ...]:
        """Applications know a route by its name."""
        return ("name",) if obj else ()

    def get_fieldsets(self, request: HttpRequest, obj: Route | None = None) -> Any:
        """Who may not change needs no note."""
        if obj is not None and not self.has_change_permission(request, obj):
            return self.fieldsets[:1]
        return self.fieldsets

    def save_model(self, request: HttpRequest, obj: Route, form: Any, change: bool) -> None:
        """Create or describe; the weights follow in `save_related`."""
        if change:
            services.route_update(
                obj.name,
                description=obj.description,
                default_tier_id=obj.default_tier_id,
                is_public=obj.is_public,
            )
            return
        created = services.route_create(
            name=obj.name,
            description=obj.description,
            default_tier_id=obj.default_tier_id,
            is_public=obj.is_public,
        )
        obj.pk = created.pk
        obj.refresh_from_db()

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Set the split, if it was changed."""
        for formset in formsets:
            formset.save(commit=False)  # fills the lists that the change message reads
            if formset.has_changed():
                services.route_set(
                    form.instance.name,
                    formset.weights(),
                    request.user.get_username(),
                    form.cleaned_data.get("note", ""),
                    expected_revision=form.cleaned_data.get("seen_revision") if change else None,
                )

    def delete_model(self, request: HttpRequest, obj: Route) -> None:
        """Delete; the history stays."""
        services.route_delete(obj.name, request.user.get_username())

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Route]) -> None:
        """Delete each; the history stays."""
        for route in queryset:
            self.delete_model(request, route)

    @admin.action(description="Roll back to the previous split", permissions=["change"])
    def rollback_selected(self, request: HttpRequest, queryset: QuerySet[Route]) -> None:
        """Undo the last change of each chosen route."""
        for route in queryset:
            self._rollback(request, route)

    @dialog_action(
        "Roll back", "Go back to the split that was in force before the last change.", icon="undo"
    )
    def rollback_one(self, request: HttpRequest, form: object, object_id: str) -> HttpResponse:
        """Undo the last change of the route that is looked at."""
        self._rollback(request, Route.objects.get(pk=object_id))
        page = reverse("admin:models_registry_route_change", args=[object_id])
        return HttpResponse(headers={"HX-Redirect": page})

    def _rollback(self, request: HttpRequest, route: Route) -> None:
        try:
            event = services.route_rollback(route.name, request.user.get_username())
        except RegistryError as error:
            messages.error(request, f"{route.name}: {error.message}")
        else:
            self.log_change(request, route, "Rolled back.")
            messages.success(request, f"{route.name} is back to {_split_text(event.after)}.")


@admin.register(RouteEvent)
class RouteEventAdmin(ReadOnly, ModelAdmin[RouteEvent]):
    """What was live when, and who changed it."""

    list_display = ("at", "route_name", "kind", "before_text", "after_text", "actor", "note")
    list_filter = ("route_name", "kind")
    list_filter_submit = True
    search_fields = ("route_name", "actor", "note")
    search_help_text = "Route, user or note"
    date_hierarchy = "at"
    fields = ("at", "route_name", "kind", "actor", "before_text", "after_text", "note")

    @column("before")
    def before_text(self, event: RouteEvent) -> str:
        """The split before."""
        return _split_text(event.before)

    @column("after")
    def after_text(self, event: RouteEvent) -> str:
        """The split after."""
        return _split_text(event.after)


def _percent(runs: Sequence[Run]) -> str:
    return f"{buckets_owned(runs) * 100 / BUCKETS:g} %"


def _split_text(weights: dict[str, int]) -> str:
    total = sum(weights.values())
    parts = [f"{key} {weight * 100 / total:.4g} %" for key, weight in weights.items() if weight]
    return " · ".join(parts) or "–"
