"""Voices that tenants make for themselves, within their number."""

from dataclasses import dataclass
from uuid import UUID

from django.db import transaction

from tenants.models import Tenant
from tts.engines.chattts import ENGINE as CHATTTS
from tts.errors import VoiceLimit, VoiceTaken
from tts.models import Voice
from tts.selectors import SpeakerSpace
from tts.services.voice_material import VoiceSource, voice_payload
from tts.services.voices import VoiceDraft, voice_create

MAX_VOICES = 1_000
"""Voices of one tenant, those out of use included."""


@dataclass(frozen=True, slots=True)
class VoiceOrder:
    """A voice as a tenant asks for it.

    One made from a sample or a recording needs the `consent` of who speaks in it.
    `changed_by` is the prefix of the key that asks.
    """

    name: str
    tenant_id: UUID
    languages: tuple[str, ...]
    source: VoiceSource
    consent: str = ""
    display_name: str = ""
    gain_db: float = 0.0
    preview_text: str = ""
    changed_by: str = ""


def voice_order(order: VoiceOrder, space: SpeakerSpace) -> Voice:
    """Store what `order` asks for.

    Raises VoiceInvalid, RecordingTooBig, VoiceTaken, VoiceLimit. Blocks for as long as a
    recording takes to be read.
    """
    # What is cheap to find comes before the recording is read, and again when it counts.
    _check_room(order)
    made = voice_payload(order.source, space)
    draft = VoiceDraft(
        name=order.name,
        engine=CHATTTS,
        languages=order.languages,
        tenant_id=order.tenant_id,
        display_name=order.display_name,
        gain_db=order.gain_db,
        payload=made.payload,
        preview_text=order.preview_text,
        origin=made.origin,
        consent=order.consent,
        changed_by=order.changed_by,
    )
    with transaction.atomic():
        # Whoever makes voices for the same tenant waits here, so that both checks hold.
        Tenant.objects.select_for_update().filter(pk=order.tenant_id).first()
        _check_room(order)
        return voice_create(draft)


def _check_room(order: VoiceOrder) -> None:
    mine = Voice.objects.filter(tenant_id=order.tenant_id).values_list("name", "aliases")
    rows = list(mine)
    if any(order.name in (name, *aliases) for name, aliases in rows):
        raise VoiceTaken(order.name)
    if len(rows) >= MAX_VOICES:
        raise VoiceLimit(MAX_VOICES)
