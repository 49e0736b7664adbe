"""Voices: created, changed, taken out of use, and kept in step with an engine's speakers."""

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from coordination.epoch import epoch_bump
from models_registry.manifest import LANGUAGE_TAG
from tts.errors import VoiceInvalid
from tts.models import REAL_PEOPLE, Voice, VoiceOrigin
from tts.voice_catalogue import VoiceSeed
from tts.voice_mix import NAME_PATTERN

MAX_PAYLOAD_BYTES = 64 * 1024
MAX_ALIASES = 32
_NAME = re.compile(NAME_PATTERN)


@dataclass(frozen=True, slots=True)
class VoiceDraft:
    """A voice as it shall be; the fields are those of `tts.models.Voice`.

    `payload` is the engine's own, at most 64 KiB, empty for speakers that the
    model contains. An empty `speaker` or `display_name` is the name. `changed_by`
    is who wants it so: the prefix of a key, or an operator's name.
    """

    name: str
    engine: str
    languages: tuple[str, ...]
    tenant_id: UUID | None = None
    speaker: str = ""
    display_name: str = ""
    companion: Voice | None = None
    gain_db: float = 0.0
    payload: bytes = b""
    aliases: tuple[str, ...] = ()
    preview_text: str = ""
    is_active: bool = True
    origin: VoiceOrigin = VoiceOrigin.MODEL
    consent: str = ""
    changed_by: str = ""


def voice_create(draft: VoiceDraft) -> Voice:
    """Store a new voice; raises VoiceInvalid naming what is wrong."""
    return _store(Voice(), draft)


def voice_update(voice: Voice, change: Callable[[VoiceDraft], VoiceDraft]) -> Voice:
    """Store what `change` makes of the voice; its engine and tenant stay. Raises VoiceInvalid.

    `change` is given the voice as it is stored now, and nobody else changes it meanwhile:
    what it leaves alone stays, also what others changed since `voice` was read.
    """
    with transaction.atomic():
        stored = Voice.objects.select_for_update().get(pk=voice.pk)
        draft = change(voice_draft(stored))
        if (draft.engine, draft.tenant_id) != (stored.engine, stored.tenant_id):
            raise VoiceInvalid("the engine and the tenant of a voice cannot be changed")
        return _store(stored, draft)


def voice_check(voice: Voice, draft: VoiceDraft) -> None:
    """Raise VoiceInvalid if `voice` (new or stored) cannot become what `draft` says."""
    _check_texts(draft)
    _check_lists(draft)
    _check_scope(voice, draft)


def voice_deactivate(voice: Voice, changed_by: str = "") -> None:
    """Take a voice out of use: requests no longer find it. It can be activated again."""
    voice.is_active = False
    voice.changed_by = changed_by
    voice.save(update_fields=["is_active", "changed_by"])
    epoch_bump()


def voice_erase(voice: Voice, changed_by: str = "") -> None:
    """Delete a voice with all it was made from; the audit log keeps that it was, and its consent.

    Requests that carry it already are spoken to their ends.
    """
    voice.changed_by = changed_by
    voice.delete()
    epoch_bump()


def voice_draft(voice: Voice) -> VoiceDraft:
    """A stored voice as a draft, to change something with `replace`."""
    return VoiceDraft(
        name=voice.name,
        engine=voice.engine,
        languages=tuple(voice.languages),
        tenant_id=voice.tenant_id,
        speaker=voice.speaker,
        display_name=voice.display_name,
        companion=voice.companion,
        gain_db=voice.gain_db,
        payload=bytes(voice.payload or b""),
        aliases=tuple(voice.aliases),
        preview_text=voice.preview_text,
        is_active=voice.is_active,
        origin=VoiceOrigin(voice.origin),
        consent=voice.consent,
    )


def voices_sync(engine: str, speakers: Sequence[VoiceSeed]) -> tuple[Voice, ...]:
    """Have the public voices of `speakers`; safe to run again. Returns those that were new.

    Voices that exist stay as they are: an operator may have changed them. An alias that
    another public voice of the engine has by now is left there.
    """
    made: list[Voice] = []
    with transaction.atomic():
        present = {
            voice.name: voice
            for voice in Voice.objects.select_for_update().filter(tenant_id__isnull=True)
        }
        for seed in speakers:
            found = present.get(seed.name)
            if found is not None and found.engine != engine:
                raise VoiceInvalid(
                    f"voice '{seed.name}' belongs to engine '{found.engine}' already", param="name"
                )
            if found is None:
                present[seed.name] = voice_create(_seeded(engine, seed))
                made.append(present[seed.name])
        for seed in speakers:
            companion = present.get(seed.companion)
            if present[seed.name] in made and companion is not None:
                voice_update(present[seed.name], _accompanied(companion))
    return tuple(made)


def _accompanied(companion: Voice) -> Callable[[VoiceDraft], VoiceDraft]:
    return lambda draft: replace(draft, companion=companion)


def _seeded(engine: str, seed: VoiceSeed) -> VoiceDraft:
    taken = _names_taken(Voice.objects.filter(engine=engine, tenant_id__isnull=True))
    return VoiceDraft(
        name=seed.name,
        engine=engine,
        languages=seed.languages,
        speaker=seed.speaker,
        display_name=seed.display_name,
        gain_db=seed.gain_db,
        payload=seed.payload,
        origin=VoiceOrigin.SEED if seed.payload else VoiceOrigin.MODEL,
        aliases=tuple(alias for alias in seed.aliases if alias not in taken),
        preview_text=seed.preview_text,
    )


def _store(voice: Voice, draft: VoiceDraft) -> Voice:
    with transaction.atomic():
        voice_check(voice, draft)
        voice.name = draft.name
        voice.engine = draft.engine
        voice.tenant_id = draft.tenant_id
        voice.languages = list(draft.languages)
        voice.speaker = draft.speaker or draft.name
        voice.display_name = draft.display_name or draft.name
        voice.companion = draft.companion
        voice.gain_db = draft.gain_db
        voice.payload = draft.payload or None
        voice.digest = hashlib.sha256(draft.payload).hexdigest() if draft.payload else ""
        voice.aliases = list(draft.aliases)
        voice.preview_text = draft.preview_text
        voice.is_active = draft.is_active
        voice.origin = draft.origin
        voice.changed_by = draft.changed_by
        _store_consent(voice, draft)
        try:
            voice.full_clean()
            with transaction.atomic():
                voice.save()
        except ValidationError as error:
            raise _invalid(error) from error
        except IntegrityError as error:
            raise VoiceInvalid(f"voice '{draft.name}' cannot be stored: {error}") from error
        epoch_bump()
    return voice


def _store_consent(voice: Voice, draft: VoiceDraft) -> None:
    """A statement is whose and of when it was made; one that stays the same is not made again."""
    statement = draft.consent.strip()
    if statement != voice.consent:
        voice.consent_by = draft.changed_by if statement else ""
        voice.consent_at = timezone.now() if statement else None
    voice.consent = statement


def _invalid(error: ValidationError) -> VoiceInvalid:
    """What the model's own checks say, by the first field that is wrong."""
    field = next(iter(error.message_dict))
    param = None if field == NON_FIELD_ERRORS else field
    message = " ".join(error.message_dict[field])
    return VoiceInvalid(f"{param}: {message}" if param else message, param=param)


def _check_texts(draft: VoiceDraft) -> None:
    if not _NAME.fullmatch(draft.name):
        raise VoiceInvalid(
            "name: Use Latin letters, digits, '_', '.' and '-', beginning with a letter or digit;"
            " at most 64.",
            param="name",
        )
    for field in ("display_name", "speaker", "preview_text", "consent"):
        # PostgreSQL cannot store it.
        if "\0" in getattr(draft, field):
            raise VoiceInvalid(f"{field}: has a NUL character", param=field)


def _check_lists(draft: VoiceDraft) -> None:
    if not draft.languages or not all(LANGUAGE_TAG.fullmatch(item) for item in draft.languages):
        raise VoiceInvalid(
            "languages: expected at least one tag such as 'en' or 'zh'", param="languages"
        )
    if len(draft.aliases) > MAX_ALIASES or not all(_NAME.fullmatch(item) for item in draft.aliases):
        raise VoiceInvalid(
            f"aliases: expected at most {MAX_ALIASES} names of Latin letters, digits,"
            " '_', '.', '-'",
            param="aliases",
        )
    if len(draft.payload) > MAX_PAYLOAD_BYTES:
        raise VoiceInvalid(
            f"payload: at most {MAX_PAYLOAD_BYTES} bytes, not {len(draft.payload)}", param="payload"
        )
    if draft.origin in REAL_PEOPLE and not draft.consent.strip():
        raise VoiceInvalid(
            "consent: say who agreed to the use of the voice, when and how", param="consent"
        )


def _check_scope(voice: Voice, draft: VoiceDraft) -> None:
    """Names must be unambiguous where they are looked up, and no tenant's voice may leak."""
    others = Voice.objects.filter(engine=draft.engine, tenant_id=draft.tenant_id)
    if voice.pk is not None:
        others = others.exclude(pk=voice.pk)
    wanted = [draft.name, *draft.aliases]
    twice = sorted({name for name in wanted if wanted.count(name) > 1})
    taken = sorted(set(wanted) & _names_taken(others))
    if twice or taken:
        raise VoiceInvalid(
            f"the names {', '.join(twice or taken)} are used more than once",
            param="name" if taken == [draft.name] and not twice else "aliases",
        )
    companion = draft.companion
    if companion is None:
        return
    if companion.pk == voice.pk:
        raise VoiceInvalid("a voice cannot be its own companion", param="companion")
    if companion.engine != draft.engine:
        raise VoiceInvalid(
            f"companion '{companion.name}' is of engine '{companion.engine}', not '{draft.engine}'",
            param="companion",
        )
    if companion.tenant_id not in (None, draft.tenant_id):
        raise VoiceInvalid("a companion is public or of the same tenant", param="companion")


def _names_taken(voices: QuerySet[Voice]) -> set[str]:
    rows = voices.values_list("name", "aliases")
    return {item for name, aliases in rows for item in (name, *aliases)}
