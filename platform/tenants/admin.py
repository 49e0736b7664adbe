"""The admin of tenants, keys and tiers; every change goes through a service."""

# Unfold and auditlog carry no types.
# mypy: disallow-subclassing-any=False, disallow-untyped-decorators=False

from typing import Any, cast

from django.contrib import admin, messages
from django.db.models import Count, Q, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from unfold.admin import ModelAdmin
from unfold.contrib.filters.admin import RangeDateTimeFilter
from unfold.decorators import action, display

from tenants import access_admin, services  # noqa: F401 (registers users, roles, audit log)
from tenants.errors import InvalidValue
from tenants.forms import ApiKeyForm, QualityTierForm
from tenants.models import ApiKey, QualityTier, Tenant


def _changes(form: "ModelForm[Any]") -> Any:
    """What the form changed, as a service takes it."""
    return {name: form.cleaned_data[name] for name in form.changed_data}


def _mirror(target: Any, saved: Any) -> None:
    """Let the instance that the admin holds be the row that the service saved."""
    target.__dict__.update(saved.__dict__)


@admin.register(Tenant)
class TenantAdmin(ModelAdmin):
    """Tenants are deactivated, never deleted: their usage and history stay."""

    list_display = ["name", "slug", "active", "live_keys", "created_at"]
    list_filter = ["is_active"]
    list_filter_submit = True
    search_fields = ["name", "slug", "id"]
    readonly_fields = ["id", "created_at"]
    prepopulated_fields = {"slug": ["name"]}
    actions = ["activate", "deactivate"]
    warn_unsaved_form = True
    fieldsets = [
        (None, {"fields": ["name", "slug", "is_active"]}),
        (
            "Limits of its own",
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
            _mirror(obj, services.tenant_update(tenant=obj, **_changes(form)))
            return
        values = {name: form.cleaned_data[name] for name in services.TenantFields.__annotations__}
        active = values.pop("is_active")
        saved = services.tenant_create(**values)
        _mirror(obj, saved if active else services.tenant_deactivate(tenant=saved))

    @action(description="Activate", permissions=["change"])
    def activate(self, request: HttpRequest, queryset: QuerySet[Tenant]) -> None:
        """Let the selected tenants in again."""
        for tenant in queryset:
            services.tenant_activate(tenant=tenant)
        messages.success(request, "The tenants are active.")

    @action(description="Deactivate: refuse all their keys", permissions=["change"])
    def deactivate(self, request: HttpRequest, queryset: QuerySet[Tenant]) -> None:
        """Refuse the selected tenants' keys."""
        for tenant in queryset:
            services.tenant_deactivate(tenant=tenant)
        messages.success(request, "The tenants are deactivated; their keys are refused.")


@admin.register(QualityTier)
class QualityTierAdmin(ModelAdmin):
    """Tiers, lowest rank first."""

    form = QualityTierForm
    list_display = [
        "name", "rank", "priority", "profile", "concurrency", "requests_per_minute",
        "characters_per_minute", "max_characters", "max_queue_seconds",
    ]  # fmt: skip
    list_filter = ["priority", "profile"]
    search_fields = ["name"]
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

    def save_model(
        self, request: HttpRequest, obj: QualityTier, form: "ModelForm[QualityTier]", change: bool
    ) -> None:
        """Through the services."""
        if change:
            _mirror(obj, services.tier_update(tier=obj, **_changes(form)))
        else:
            _mirror(obj, services.tier_create(**cast("Any", form.cleaned_data)))

    def delete_model(self, request: HttpRequest, obj: QualityTier) -> None:
        """Through the service; the confirmation page has refused tiers in use."""
        services.tier_delete(tier=obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[QualityTier]) -> None:
        """Through the service."""
        for tier in queryset:
            services.tier_delete(tier=tier)


@admin.register(ApiKey)
class ApiKeyAdmin(ModelAdmin):
    """Keys are revoked, never deleted; a secret is shown on the page that answers its issue."""

    form = ApiKeyForm
    list_display = [
        "prefix", "name", "tenant", "tier", "state", "expires_at", "last_used_at", "created_at",
    ]  # fmt: skip
    list_filter = ["tier", "tenant", ("created_at", RangeDateTimeFilter)]
    list_filter_submit = True
    list_select_related = ["tenant", "tier"]
    search_fields = ["prefix", "name", "tenant__name", "tenant__slug"]
    autocomplete_fields = ["tenant"]
    actions = ["revoke", "rotate"]
    actions_submit_line = ["rotate_this", "revoke_this"]
    warn_unsaved_form = True
    _record = ("prefix", "state", "created_at", "last_used_at", "revoked_at")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """A key keeps its tenant."""
        return self._record if obj is None else ("tenant", *self._record)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """The record is of keys that exist."""
        fields = ["tenant", "name", "tier", "scopes", "expires_at"]
        record = [] if obj is None else [("Record", {"fields": list(self._record)})]
        return [(None, {"fields": fields}), *record]

    @display(
        description="State",
        label={"live": "success", "expired": "warning", "revoked": "danger", "inactive": "info"},
    )
    def state(self, key: ApiKey) -> str:
        """Whether the key is let in."""
        if key.revoked_at is not None:
            return "revoked"
        if key.expires_at is not None and key.expires_at <= timezone.now():
            return "expired"
        return "live" if key.tenant.is_active else "inactive"

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never."""
        return False

    def save_model(
        self, request: HttpRequest, obj: ApiKey, form: "ModelForm[ApiKey]", change: bool
    ) -> None:
        """Through the services; a new secret travels on the instance to the answer."""
        if not change:
            key, secret = services.api_key_issue(**cast("Any", form.cleaned_data))
            _mirror(obj, key)
            self._secrets_keep(obj, [(key, secret)])
            return
        _mirror(obj, services.api_key_update(key=obj, **_changes(form)))
        for pressed in self.get_actions_submit_line(request, obj.pk):
            if pressed.action_name in request.POST:
                pressed.method(request, obj)

    def response_add(
        self, request: HttpRequest, obj: ApiKey, post_url_continue: str | None = None
    ) -> HttpResponse:
        """The page with the secret."""
        return self._secrets_page(request, obj) or super().response_add(request, obj)

    def response_change(self, request: HttpRequest, obj: ApiKey) -> HttpResponse:
        """The page with the secret after a rotation."""
        return self._secrets_page(request, obj) or super().response_change(request, obj)

    @action(description="Rotate", permissions=["change"])
    def rotate_this(self, request: HttpRequest, obj: ApiKey) -> None:
        """Replace this key."""
        try:
            self._secrets_keep(obj, [services.api_key_rotate(key=obj)])
        except InvalidValue as error:
            messages.error(request, error.message)

    @action(description="Revoke", permissions=["change"])
    def revoke_this(self, request: HttpRequest, obj: ApiKey) -> None:
        """End this key."""
        _mirror(obj, services.api_key_revoke(key=obj))
        messages.success(request, f"The key {obj.prefix} is revoked.")

    @action(description="Revoke: refuse them for good", permissions=["change"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> None:
        """End the selected keys."""
        for key in queryset:
            services.api_key_revoke(key=key)
        messages.success(request, "The keys are revoked.")

    @action(description="Rotate: revoke and issue in their place", permissions=["change"])
    def rotate(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> HttpResponse | None:
        """Replace the selected keys."""
        issued = []
        for key in queryset:
            try:
                issued.append(services.api_key_rotate(key=key))
            except InvalidValue as error:
                messages.error(request, error.message)
        return self._secrets_render(request, issued) if issued else None

    def _secrets_keep(self, obj: Any, issued: list[tuple[ApiKey, str]]) -> None:
        obj.issued_secrets = issued

    def _secrets_page(self, request: HttpRequest, obj: Any) -> HttpResponse | None:
        issued = getattr(obj, "issued_secrets", None)
        return self._secrets_render(request, issued) if issued else None

    def _secrets_render(
        self, request: HttpRequest, issued: list[tuple[ApiKey, str]]
    ) -> HttpResponse:
        """The secrets, in this answer only: no message, session or cookie holds them."""
        context = {
            **self.admin_site.each_context(request),
            "opts": self.model._meta,
            "title": "Copy the key now" if len(issued) == 1 else "Copy the keys now",
            "issued": issued,
        }
        response = TemplateResponse(request, "tenants/admin/secrets.html", context)
        response["Cache-Control"] = "no-store"
        return response
