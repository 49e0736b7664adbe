"""Voices in the admin. Every change goes through a service."""

from dataclasses import replace
from typing import Any

from django.contrib import admin, messages
from django.db.models import CharField, OuterRef, QuerySet, Subquery
from django.http import HttpRequest

from models_registry.adminsite import ErrorsAsMessages, ModelAdmin, column
from tenants.models import Tenant
from tts.errors import VoiceInvalid
from tts.forms import VoiceAddForm, VoiceForm
from tts.models import Voice
from tts.services.voices import (
    voice_create,
    voice_deactivate,
    voice_erase,
    voice_update,
)

_MADE_FROM = (
    "Of ChatTTS only: give exactly one of seed, embedding, sample and recording. A voice of "
    "another engine is a speaker of its model, named above."
)


class OwnerFilter(admin.SimpleListFilter):
    """By whose a voice is."""

    title = "tenant"
    parameter_name = "tenant"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Everybody, and the tenants that have voices."""
        del request, model_admin
        owners = Voice.objects.exclude(tenant_id=None).values("tenant_id")
        tenants = Tenant.objects.filter(pk__in=owners).order_by("slug")
        return [("public", "public"), *((str(tenant.pk), tenant.slug) for tenant in tenants)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Voice]) -> QuerySet[Voice]:
        """The chosen owner's."""
        chosen = self.value()
        if chosen == "public":
            return queryset.filter(tenant_id=None)
        known = {key for key, _ in self.lookup_choices}
        return queryset.filter(tenant_id=chosen) if chosen in known else queryset


@admin.register(Voice)
class VoiceAdmin(ErrorsAsMessages, ModelAdmin[Voice]):
    """Public voices and those of tenants."""

    told_errors = (VoiceInvalid,)
    form = VoiceForm
    list_display = (
        "name",
        "display_name",
        "engine",
        "speaks",
        "owner",
        "origin",
        "gain_db",
        "is_active",
    )
    list_filter = ("engine", "origin", OwnerFilter, "is_active")
    list_filter_submit = True
    list_select_related = ("companion",)
    search_fields = ("name", "display_name", "speaker", "aliases", "tenant_id")
    search_help_text = "Name, alias or speaker"
    autocomplete_fields = ("companion",)
    readonly_fields = ("origin", "consent_by", "consent_at", "digest", "created_at", "owner")
    warn_unsaved_form = True
    actions = ("deactivate", "activate")

    def get_fieldsets(self, request: HttpRequest, obj: Voice | None = None) -> Any:
        """Whose a voice is, and from what it is made, is chosen once and then shown."""
        owner = "owner" if obj else "tenant_id"
        sound = ("engine", "speaker", "languages", "companion", "gain_db")
        first = (
            (None, {"fields": ("name", "display_name", "is_active", owner, "aliases")}),
            ("Sound", {"fields": sound}),
        )
        if obj is None:
            made = ("seed", "embedding", "sample", "recording", "transcript", "consent")
            return (
                *first,
                ("Made from", {"fields": made, "description": _MADE_FROM}),
                ("More", {"fields": ("preview_text",)}),
            )
        consent = ("origin", "consent", "consent_by", "consent_at")
        more = ("preview_text", "digest", "created_at")
        return (*first, ("Made from", {"fields": consent}), ("More", {"fields": more}))

    def get_form(
        self, request: HttpRequest, obj: Voice | None = None, change: bool = False, **kwargs: Any
    ) -> Any:
        """What a voice is made from is asked for a new one alone."""
        if obj is None:
            kwargs["form"] = VoiceAddForm
        return super().get_form(request, obj, change, **kwargs)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Voice]:
        """With the names of the tenants."""
        names = Tenant.objects.filter(pk=OuterRef("tenant_id")).values("slug")
        return (
            super()
            .get_queryset(request)
            .annotate(owner_name=Subquery(names, output_field=CharField()))
        )

    @column("languages")
    def speaks(self, voice: Voice) -> str:
        """Its own languages, and its companion."""
        own = ", ".join(voice.languages)
        return f"{own} (with {voice.companion.name})" if voice.companion is not None else own

    @column("tenant", labels={"public": "success"}, ordering="owner_name")
    def owner(self, voice: Any) -> str:
        """Whose it is; a tenant that is gone is shown by its id."""
        return "public" if voice.tenant_id is None else voice.owner_name or str(voice.tenant_id)

    def get_readonly_fields(
        self, request: HttpRequest, obj: Voice | None = None
    ) -> tuple[str, ...]:
        """Requests know a voice by its name; engine and tenant never change."""
        fixed = ("name", "engine") if obj else ()
        return (*self.readonly_fields, *fixed)

    def save_model(self, request: HttpRequest, obj: Voice, form: Any, change: bool) -> None:
        """Create or update."""
        operator = _operator(request)
        if change:
            voice_update(obj, lambda stored: replace(form.changed(stored), changed_by=operator))
            return
        created = voice_create(replace(form.draft(), changed_by=operator))
        obj.pk = created.pk
        obj.refresh_from_db()

    def has_delete_permission(self, request: HttpRequest, obj: Voice | None = None) -> bool:
        """A tenant's voice and its recording can be deleted, one at a time.

        Public ones, which any request may name, are taken out of use.
        """
        own = obj is not None and obj.tenant_id is not None
        return own and super().has_delete_permission(request, obj)

    def delete_model(self, request: HttpRequest, obj: Voice) -> None:
        """Delete with all it was made from."""
        voice_erase(obj, changed_by=_operator(request))

    @admin.action(description="Take out of use", permissions=["change"])
    def deactivate(self, request: HttpRequest, queryset: QuerySet[Voice]) -> None:
        """Take the chosen voices out of use."""
        for voice in queryset:
            voice_deactivate(voice, changed_by=_operator(request))
            self.log_change(request, voice, "Taken out of use.")
            messages.success(request, f"{voice.name} is out of use.")

    @admin.action(description="Put back into use", permissions=["change"])
    def activate(self, request: HttpRequest, queryset: QuerySet[Voice]) -> None:
        """Let requests find the chosen voices again."""
        operator = _operator(request)
        for voice in queryset:
            voice_update(voice, lambda stored: replace(stored, is_active=True, changed_by=operator))
            self.log_change(request, voice, "Put back into use.")
            messages.success(request, f"{voice.name} is in use.")


def _operator(request: HttpRequest) -> str:
    return request.user.get_username()
