"""The admin of tenants and tiers; every change goes through a service."""

# Unfold and auditlog carry no types.
# mypy: disallow-subclassing-any=False, disallow-untyped-decorators=False

from typing import Any, cast

from django.contrib import admin, messages
from django.db.models import Count, Q, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.decorators import action, display

from tenants import (  # noqa: F401 (they register keys, users, roles and the audit log)
    access_admin,
    audit_admin,
    key_admin,
    services,
)
from tenants.forms import QualityTierForm, TenantForm, form_changes, row_mirror
from tenants.models import QualityTier, Tenant


@admin.register(Tenant)
class TenantAdmin(ModelAdmin):
    """Tenants are deactivated, never deleted: their usage and history stay."""

    form = TenantForm
    list_display = ["name", "slug", "active", "live_keys", "created_at"]
    # Counting the keys loses the order that the model has.
    ordering = ["slug"]
    list_filter = ["is_active"]
    list_filter_submit = True
    search_fields = ["name", "slug", "id"]
    search_help_text = "Name, slug or id"
    readonly_fields = ["id", "created_at"]
    prepopulated_fields = {"slug": ["name"]}
    actions = ["activate", "deactivate"]
    warn_unsaved_form = True
    fieldsets = [
        (None, {"fields": ["name", "slug", "is_active"]}),
        (
            "Limits of its own, over all its keys",
            {"fields": ["concurrency", "requests_per_minute", "characters_per_minute"]},
        ),
        ("Record", {"fields": ["id", "created_at"]}),
    ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Tenant]:
        """With the number of keys that are not revoked."""
        live = Count("api_keys", filter=Q(api_keys__revoked_at__isnull=True))
        return cast("QuerySet[Tenant]", super().get_queryset(request)).annotate(live_keys=live)

    @display(description="Active", boolean=True, ordering="is_active")
    def active(self, tenant: Tenant) -> bool:
        """Whether its keys are let in."""
        return tenant.is_active

    @display(description="Keys", ordering="live_keys")
    def live_keys(self, tenant: Any) -> int:
        """Keys that are not revoked."""
        return int(tenant.live_keys)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never."""
        return False

    def save_model(
        self, request: HttpRequest, obj: Tenant, form: "ModelForm[Tenant]", change: bool
    ) -> None:
        """Through the services."""
        if change:
            row_mirror(obj, services.tenant_update(tenant=obj, **form_changes(form)))
            return
        values = {name: form.cleaned_data[name] for name in services.TenantFields.__annotations__}
        active = values.pop("is_active")
        saved = services.tenant_create(**values)
        row_mirror(obj, saved if active else services.tenant_deactivate(tenant=saved))

    @action(description="Activate", permissions=["change"])
    def activate(self, request: HttpRequest, queryset: QuerySet[Tenant]) -> None:
        """Let the selected tenants in again."""
        for tenant in queryset:
            services.tenant_activate(tenant=tenant)
            self.log_change(request, tenant, "Activated.")
        messages.success(request, "The tenants are active.")

    @action(description="Deactivate: refuse all their keys", permissions=["change"])
    def deactivate(self, request: HttpRequest, queryset: QuerySet[Tenant]) -> None:
        """Refuse the selected tenants' keys."""
        for tenant in queryset:
            services.tenant_deactivate(tenant=tenant)
            self.log_change(request, tenant, "Deactivated.")
        messages.success(request, "The tenants are deactivated; their keys are refused.")


@admin.register(QualityTier)
class QualityTierAdmin(ModelAdmin):
    """Tiers, lowest rank first."""

    form = QualityTierForm
    list_display = [
        "name", "rank", "priority", "profile", "at_once", "requests", "characters",
        "longest_text", "longest_wait",
    ]  # fmt: skip
    list_filter = ["priority", "profile"]
    list_filter_submit = True
    search_fields = ["name"]
    search_help_text = "Name"
    warn_unsaved_form = True
    fieldsets = [
        (None, {"fields": ["name", "rank", "priority", "profile", "allowed_models"]}),
        (
            "Limits",
            {
                "fields": [
                    "concurrency",
                    "requests_per_minute",
                    "characters_per_minute",
                    "max_characters",
                    "max_queue_seconds",
                ]
            },
        ),
    ]

    @display(description="At once", ordering="concurrency")
    def at_once(self, tier: QualityTier) -> str:
        """Requests at the same time."""
        return f"{tier.concurrency:,}"

    @display(description="Requests/min", ordering="requests_per_minute")
    def requests(self, tier: QualityTier) -> str:
        """Requests a minute."""
        return f"{tier.requests_per_minute:,}"

    @display(description="Characters/min", ordering="characters_per_minute")
    def characters(self, tier: QualityTier) -> str:
        """Characters a minute."""
        return f"{tier.characters_per_minute:,}"

    @display(description="Longest text", ordering="max_characters")
    def longest_text(self, tier: QualityTier) -> str:
        """Characters in one request."""
        return f"{tier.max_characters:,}"

    @display(description="Longest wait", ordering="max_queue_seconds")
    def longest_wait(self, tier: QualityTier) -> str:
        """Seconds before the first step."""
        return f"{tier.max_queue_seconds:g} s"

    def save_model(
        self, request: HttpRequest, obj: QualityTier, form: "ModelForm[QualityTier]", change: bool
    ) -> None:
        """Through the services."""
        if change:
            row_mirror(obj, services.tier_update(tier=obj, **form_changes(form)))
        else:
            row_mirror(obj, services.tier_create(**cast("Any", form.cleaned_data)))

    def delete_model(self, request: HttpRequest, obj: QualityTier) -> None:
        """Through the service; the confirmation page has refused tiers in use."""
        services.tier_delete(tier=obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[QualityTier]) -> None:
        """Through the service."""
        for tier in queryset:
            services.tier_delete(tier=tier)
