"""Forms of voices in the admin."""

from dataclasses import replace
from typing import Any
from uuid import UUID

from django import forms
from unfold.widgets import (
    UnfoldAdminFileFieldWidget,
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
)

from models_registry.adminsite import ModelForm
from tenants.forms import LinesField
from tenants.models import Tenant
from tts.audio.reading import FORMATS
from tts.engine.errors import EngineError
from tts.engines.chattts import ENGINE as CHATTTS
from tts.errors import RecordingTooBig, VoiceInvalid
from tts.models import Voice, VoiceOrigin
from tts.selectors import speaker_space
from tts.services.voice_material import (
    MAX_RECORDING_BYTES,
    MAX_SEED,
    RECORDING_SECONDS,
    VoicePayload,
    VoiceSource,
    voice_payload,
)
from tts.services.voices import VoiceDraft, voice_check
from tts.speech.errors import SpeechError

_SECONDS = f"{RECORDING_SECONDS[0]:g} to {RECORDING_SECONDS[1]:g} seconds"


class VoiceForm(ModelForm[Voice]):
    """A voice; what it was made from stays."""

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
            "consent": "Who agreed to the use of this voice, when and how. Samples and recordings "
            "need it; who writes it here, and when, is recorded.",
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

    def changed(self, stored: VoiceDraft) -> VoiceDraft:
        """`stored` with the fields that were changed here: others may have changed the rest."""
        draft = self.draft()
        return replace(stored, **{name: getattr(draft, name) for name in self.changed_data})

    def clean(self) -> dict[str, Any]:
        """Refuse what the service would, beside the field that is wrong."""
        cleaned = super().clean() or self.cleaned_data
        if not self.errors:
            try:
                voice_check(self.instance, self.draft())
            except VoiceInvalid as error:
                self.tell(error)
        return cleaned

    def tell(self, error: SpeechError) -> None:
        """Show an error beside its field."""
        self.add_error(error.param if error.param in self.fields else None, error.message)


class VoiceAddForm(VoiceForm):
    """A new voice: a speaker that the model has, or, for ChatTTS, one made from what is given."""

    seed = forms.IntegerField(
        required=False,
        min_value=0,
        max_value=MAX_SEED,
        widget=UnfoldAdminIntegerFieldWidget,
        help_text="A random speaker: the same number is the same voice on every machine.",
    )
    embedding = forms.CharField(
        required=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 2}),
        help_text="ChatTTS' spk_emb, a string of Chinese characters.",
    )
    sample = forms.CharField(
        required=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 2}),
        help_text=f"ChatTTS' spk_smp, {_SECONDS} of somebody as a string of Chinese characters.",
    )
    recording = forms.FileField(
        required=False,
        widget=UnfoldAdminFileFieldWidget,
        help_text=f"An audio file, {_SECONDS} in which one person speaks: {FORMATS}.",
    )
    transcript = forms.CharField(
        required=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 2}),
        help_text="The words that are spoken in the sample or recording.",
    )
    _made: VoicePayload | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["speaker"].required = False
        self.fields["speaker"].help_text = "The speaker's id in the model; ChatTTS has none."

    def clean(self) -> dict[str, Any]:
        """Make the voice, then check it as any other."""
        if not self.errors:
            try:
                self._made = self._make()
            except SpeechError as error:
                self.tell(error)
            except EngineError as error:
                self.add_error(None, error.message)
        return super().clean()

    def draft(self) -> VoiceDraft:
        """With what it is made from."""
        draft = super().draft()
        if self._made is None:
            return draft
        return replace(draft, payload=self._made.payload, origin=self._made.origin)

    def _make(self) -> VoicePayload | None:
        """What is given, packed; None for a speaker that the model has. Raises SpeechError."""
        values = self.cleaned_data
        source = VoiceSource(
            seed=values["seed"],
            embedding=values["embedding"] or None,
            sample=values["sample"] or None,
            recording=_read(values["recording"]),
            transcript=values["transcript"],
        )
        if values["engine"] == CHATTTS:
            return voice_payload(source, speaker_space())
        if source.given:
            raise VoiceInvalid(
                f"Only the engine {CHATTTS} speaks with a {source.given[0]}.", param="engine"
            )
        if not values["speaker"]:
            raise VoiceInvalid("Which speaker of the model is it?", param="speaker")
        return None


def _read(file: Any) -> bytes | None:
    if file is None:
        return None
    if file.size > MAX_RECORDING_BYTES:
        raise RecordingTooBig(MAX_RECORDING_BYTES)
    return bytes(file.read())


def _strings(value: object, field: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise VoiceInvalid(f'{field}: expected a list of strings such as ["en"]', param=field)
    return tuple(value)
