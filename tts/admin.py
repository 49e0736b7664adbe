"""Voices in the admin. Every change goes through a service."""

from dataclasses import replace
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.db.models import CharField, OuterRef, QuerySet, Subquery
from django.http import HttpRequest
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget

from models_registry.adminsite import ErrorsAsMessages, ModelAdmin, ModelForm, column
from tenants.forms import LinesField
from tenants.models import Tenant
from tts.errors import VoiceInvalid
from tts.models import Voice, VoiceOrigin
from tts.services.voices import (
    VoiceDraft,
    voice_check,
    voice_create,
    voice_deactivate,
    voice_draft,
    voice_update,
)


class VoiceForm(ModelForm[Voice]):
    """A voice; the embedding comes by import and is not edited here."""

    languages = LinesField(help_text="Tags such as en or zh, one a line.")
    aliases = LinesField(required=False, help_text="Other names that requests may use, one a line.")
    tenant_id = forms.ModelChoiceField(
        Tenant.objects.all(),
        required=False,
        empty_label="everybody (public)",
        widget=UnfoldAdminSelectWidget,
        label="Tenant",
        help_text="Who may use it. This cannot be changed later.",
    )

    class Meta:
        model = Voice
        fields = (
            "name",
            "display_name",
            "tenant_id",
            "engine",
            "speaker",
            "languages",
            "companion",
            "gain_db",
            "aliases",
            "preview_text",
            "consent",
            "is_active",
        )
        widgets = {
            name: UnfoldAdminTextareaWidget(attrs={"rows": 2})
            for name in ("preview_text", "consent")
        }
        help_texts = {
            "display_name": "The name for people.",
            "engine": "The engine family that has the speaker, such as kokoro.",
            "preview_text": "What a preview of the voice says.",
            "is_active": "While this is off, requests do not find the voice.",
        }

    def clean_tenant_id(self) -> UUID | None:
        """The id of the chosen tenant: voices know tenants by their ids only."""
        tenant = self.cleaned_data["tenant_id"]
        return tenant.pk if tenant is not None else None

    def draft(self) -> VoiceDraft:
        """What the form says, with what it does not show taken from the voice."""
        values = {**self.initial, **self.cleaned_data}
        voice = self.instance
        return VoiceDraft(
            name=voice.name if voice.pk else values["name"],
            engine=voice.engine if voice.pk else values["engine"],
            languages=_strings(values["languages"], "languages"),
            tenant_id=voice.tenant_id if voice.pk else values["tenant_id"],
            speaker=values["speaker"],
            display_name=values["display_name"],
            companion=values["companion"],
            gain_db=values["gain_db"],
            payload=bytes(voice.payload or b""),
            aliases=_strings(values["aliases"] or [], "aliases"),
            preview_text=values["preview_text"],
            is_active=values["is_active"],
            origin=VoiceOrigin(voice.origin),
            consent=values["consent"],
        )

    def clean(self) -> dict[str, Any]:
        """Refuse what the service would, beside the field that is wrong."""
        cleaned = super().clean() or self.cleaned_data
        if not self.errors:
            try:
                voice_check(self.instance, self.draft())
            except VoiceInvalid as error:
                self.add_error(error.param if error.param in self.fields else None, error.message)
        return cleaned


@admin.register(Voice)
class VoiceAdmin(ErrorsAsMessages, ModelAdmin[Voice]):
    """Public voices and those of tenants."""

    told_errors = (VoiceInvalid,)
    form = VoiceForm
    list_display = ("name", "display_name", "engine", "speaks", "owner", "gain_db", "is_active")
    list_filter = ("engine", "is_active")
    list_filter_submit = True
    list_select_related = ("companion",)
    search_fields = ("name", "display_name", "speaker", "aliases", "tenant_id")
    search_help_text = "Name, alias or speaker"
    autocomplete_fields = ("companion",)
    readonly_fields = ("origin", "digest", "created_at", "owner")
    warn_unsaved_form = True
    actions = ("deactivate", "activate")

    def get_fieldsets(self, request: HttpRequest, obj: Voice | None = None) -> Any:
        """Whose a voice is, is chosen once and then shown."""
        owner = "owner" if obj else "tenant_id"
        return (
            (None, {"fields": ("name", "display_name", "is_active", owner, "aliases")}),
            ("Sound", {"fields": ("engine", "speaker", "languages", "companion", "gain_db")}),
            ("More", {"fields": ("origin", "consent", "preview_text", "digest", "created_at")}),
        )

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
        if change:
            voice_update(obj, form.draft())
            return
        created = voice_create(form.draft())
        obj.pk = created.pk
        obj.refresh_from_db()

    def has_delete_permission(self, request: HttpRequest, obj: Voice | None = None) -> bool:
        """A voice is taken out of use, since the ledger names it."""
        return False

    @admin.action(description="Take out of use", permissions=["change"])
    def deactivate(self, request: HttpRequest, queryset: QuerySet[Voice]) -> None:
        """Take the chosen voices out of use."""
        for voice in queryset:
            voice_deactivate(voice)
            self.log_change(request, voice, "Taken out of use.")
            messages.success(request, f"{voice.name} is out of use.")

    @admin.action(description="Put back into use", permissions=["change"])
    def activate(self, request: HttpRequest, queryset: QuerySet[Voice]) -> None:
        """Let requests find the chosen voices again."""
        for voice in queryset:
            voice_update(voice, replace(voice_draft(voice), is_active=True))
            self.log_change(request, voice, "Put back into use.")
            messages.success(request, f"{voice.name} is in use.")


def _strings(value: object, field: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise VoiceInvalid(f'{field}: expected a list of strings such as ["en"]', param=field)
    return tuple(value)
