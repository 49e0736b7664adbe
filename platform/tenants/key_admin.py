"""API keys in the admin: issued, rotated and revoked; a secret is shown once."""

# Unfold carries no types.
# mypy: disallow-subclassing-any=False, disallow-untyped-decorators=False

from typing import Any, cast

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from unfold.admin import ModelAdmin
from unfold.contrib.filters.admin import AutocompleteSelectFilter, RangeDateTimeFilter
from unfold.decorators import action, display
from unfold.enums import ActionVariant

from tenants import services
from tenants.errors import InvalidValue
from tenants.forms import ApiKeyForm, form_changes, row_mirror
from tenants.models import ApiKey

CONFIRMED = "confirmed"
"""The field of a request by which a person has said yes."""


@admin.register(ApiKey)
class ApiKeyAdmin(ModelAdmin):
    """Keys are revoked, never deleted; a secret is shown on the page that answers its issue."""

    form = ApiKeyForm
    list_display = [
        "prefix", "name", "tenant", "tier", "state", "expires_at", "last_used_at", "created_at",
    ]  # fmt: skip
    list_filter = [
        "tier", ("tenant", AutocompleteSelectFilter), ("created_at", RangeDateTimeFilter),
    ]  # fmt: skip
    list_filter_submit = True
    list_select_related = ["tenant", "tier"]
    search_fields = ["prefix", "name", "tenant__name", "tenant__slug"]
    search_help_text = "Prefix, name or tenant"
    autocomplete_fields = ["tenant"]
    actions = ["revoke", "rotate"]
    actions_detail = ["rotate_one", "revoke_one"]
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

    def get_actions_detail(self, request: HttpRequest, object_id: str) -> list[Any]:
        """Nothing is left to do with a revoked key."""
        key = self.get_object(request, object_id)
        if key is None or key.revoked_at is not None:
            return []
        return cast("list[Any]", super().get_actions_detail(request, object_id))

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
        if change:
            row_mirror(obj, services.api_key_update(key=obj, **form_changes(form)))
            return
        key, secret = services.api_key_issue(**cast("Any", form.cleaned_data))
        row_mirror(obj, key)
        cast("Any", obj).issued_secret = secret

    def response_add(
        self, request: HttpRequest, obj: ApiKey, post_url_continue: str | None = None
    ) -> HttpResponse:
        """The page with the secret."""
        return self._secrets_page(request, [(obj, cast("Any", obj).issued_secret)])

    @action(description="Rotate", permissions=["change"], icon="autorenew")
    def rotate_one(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Replace the key that is looked at."""
        return self._rotate(request, ApiKey.objects.filter(pk=object_id))

    @action(
        description="Revoke", permissions=["change"], icon="block", variant=ActionVariant.DANGER
    )
    def revoke_one(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """End the key that is looked at."""
        return self._revoke(request, ApiKey.objects.filter(pk=object_id))

    @action(description="Revoke: refuse them for good", permissions=["change"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> HttpResponse:
        """End the selected keys."""
        return self._revoke(request, queryset)

    @action(description="Rotate: revoke and issue in their place", permissions=["change"])
    def rotate(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> HttpResponse:
        """Replace the selected keys."""
        return self._rotate(request, queryset)

    def _revoke(self, request: HttpRequest, keys: QuerySet[ApiKey]) -> HttpResponse:
        if not _confirmed(request):
            text = "What uses it is refused at once, and for good."
            return self._question(request, keys, "Revoke", text, "revoke")
        for key in keys:
            services.api_key_revoke(key=key)
            self.log_change(request, key, "Revoked.")
            messages.success(request, f"The key {key.prefix} is revoked.")
        return self._to_list()

    def _rotate(self, request: HttpRequest, keys: QuerySet[ApiKey]) -> HttpResponse:
        if not _confirmed(request):
            text = (
                "The old secret is refused at once; a new key takes its place, with its settings."
            )
            return self._question(request, keys, "Rotate", text, "rotate")
        issued = []
        for key in keys:
            try:
                issued.append(services.api_key_rotate(key=key))
            except InvalidValue as error:
                messages.error(request, error.message)
            else:
                self.log_change(request, key, "Rotated.")
        return self._secrets_page(request, issued) if issued else self._to_list()

    def _to_list(self) -> HttpResponse:
        return HttpResponseRedirect(reverse("admin:tenants_apikey_changelist"))

    def _question(
        self, request: HttpRequest, keys: QuerySet[ApiKey], verb: str, text: str, action_name: str
    ) -> HttpResponse:
        """Ask before something that cannot be undone."""
        context = {
            **self.admin_site.each_context(request),
            "opts": self.model._meta,
            "title": f"{verb} {'this key' if len(keys) == 1 else f'these {len(keys)} keys'}?",
            "text": text,
            "verb": verb,
            "keys": keys.select_related("tenant", "tier"),
            "action_name": action_name,
            "confirmed": CONFIRMED,
        }
        return TemplateResponse(request, "tenants/admin/question.html", context)

    def _secrets_page(self, request: HttpRequest, issued: list[tuple[ApiKey, str]]) -> HttpResponse:
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


def _confirmed(request: HttpRequest) -> bool:
    return request.method == "POST" and CONFIRMED in request.POST
