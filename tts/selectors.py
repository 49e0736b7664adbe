"""Reading voices: by name, alias or mix, and in lists."""

from dataclasses import dataclass, replace
from uuid import UUID

from channels.db import database_sync_to_async
from django.db.models import Q

from coordination.epoch import ConfigCache
from models_registry.models import ModelVersion
from models_registry.selectors import manifest_readable
from models_registry.states import VersionState
from tts.engine.request import VoicePart, VoiceSpec
from tts.engines.chattts import ENGINE as CHATTTS
from tts.engines.chattts.config_json import config_from_json
from tts.errors import VoiceMixInvalid, VoiceNotFound, VoicesNotTaken
from tts.models import REAL_PEOPLE, Voice, VoiceOrigin
from tts.voice_mix import NamedPart, voice_mix_parse, voice_mixed

SHOWN = 12


@dataclass(frozen=True, slots=True)
class SpeakerSpace:
    """What fits a version's speakers: numbers of an embedding, codebooks of a sample."""

    hidden: int
    codebooks: int


@dataclass(frozen=True, slots=True)
class VoiceInfo:
    """A voice in a list. `is_public` is False for the tenant's own; `created` is Unix time."""

    name: str
    display_name: str
    engine: str
    languages: tuple[str, ...]
    aliases: tuple[str, ...]
    companion: str
    preview_text: str
    is_public: bool
    origin: VoiceOrigin
    created: int


@dataclass(frozen=True, slots=True)
class _Catalogue:
    """The voices that one tenant may use with one engine, by name and alias."""

    by_name: dict[str, VoiceSpec]
    names: tuple[str, ...]
    unmixable: frozenset[str]


async def voice_resolve(
    name: str, *, tenant_id: UUID | str | None, engine: str, cache: ConfigCache
) -> VoiceSpec:
    """The voice called `name`: a name, an alias, or a mix (see `tts.voice_mix`).

    The tenant's own voices come before public ones, and names before aliases;
    another tenant's do not exist. A companion comes with it, one level deep. A
    mix speaks the languages of all its parts with the mean of their gains,
    weighted; its companion is that of its heaviest part. Voices made from a sample
    or a recording cannot be mixed. Raises VoiceNotFound (404) and VoiceMixInvalid.
    """
    tenant = _uuid(tenant_id)
    parts = voice_mix_parse(name)

    async def read() -> _Catalogue:
        return await cache.get(("voices", engine, tenant), lambda: _catalogue(tenant, engine))

    catalogue = await read()
    if any(part.name not in catalogue.by_name for part in parts):
        # Whoever has just made a voice speaks with it at once.
        await cache.refresh()
        catalogue = await read()
    found: list[tuple[NamedPart, VoiceSpec]] = []
    for part in parts:
        voice = catalogue.by_name.get(part.name)
        if voice is None:
            raise VoiceNotFound(part.name, catalogue.names[:SHOWN])
        if len(parts) > 1 and part.name in catalogue.unmixable:
            raise VoiceMixInvalid(
                f"voice '{part.name}' was made from a recording, which cannot be mixed",
                part.position,
            )
        found.append((part, voice))
    if len(found) == 1:
        return found[0][1]
    return voice_mixed(found)


async def voices_listed(
    tenant_id: UUID | str | None, engine: str | None = None
) -> tuple[VoiceInfo, ...]:
    """The voices a tenant may use (None: the public ones), its own first, then by name.

    A public voice hidden by a tenant's own of the same name and engine is left out.
    """
    voices = await _voices(_uuid(tenant_id), engine)
    infos: dict[tuple[str, str], VoiceInfo] = {}
    for voice in voices:
        infos.setdefault((voice.engine, voice.name), voice_info(voice))
    return tuple(infos.values())


async def voices_speaking(
    language: str, tenant_id: UUID | str | None, engine: str
) -> tuple[str, ...]:
    """Names of the voices that speak `language` themselves, without a companion."""
    voices = await voices_listed(tenant_id, engine)
    return tuple(voice.name for voice in voices if language in voice.languages)


def speaker_space(key: str | None = None) -> SpeakerSpace:
    """What fits the speakers of a ChatTTS version; of the newest usable one where none is named.

    Raises VoicesNotTaken where there is none.
    """
    usable = [state for state in VersionState if state.may_serve]
    versions = ModelVersion.objects.filter(model__engine=CHATTTS, state__in=usable)
    if key is not None:
        versions = versions.filter(key=key)
    newest = map(manifest_readable, versions.order_by("-created_at", "-id"))
    manifest = next((manifest for manifest in newest if manifest is not None), None)
    if manifest is None:
        raise VoicesNotTaken
    config = config_from_json(manifest.config["model"])
    return SpeakerSpace(config.gpt.hidden, config.gpt.codebooks)


def voice_own(name: str, tenant_id: UUID | str) -> Voice | None:
    """The voice that a tenant made under exactly this name, in use or not."""
    return Voice.objects.filter(name=name, tenant_id=_uuid(tenant_id)).first()


# Unlike `async for`, this drops a connection that the database has closed.
@database_sync_to_async
def _voices(tenant: UUID | None, engine: str | None) -> list[Voice]:
    query = Voice.objects.filter(is_active=True).select_related("companion")
    if engine is not None:
        query = query.filter(engine=engine)
    mine = Q(tenant_id__isnull=True)
    if tenant is not None:
        mine |= Q(tenant_id=tenant)
    voices = query.filter(mine).order_by("engine", "name")
    # Sorted here, since databases differ on where NULL goes.
    return sorted(voices, key=lambda voice: voice.tenant_id is None)


async def _catalogue(tenant: UUID | None, engine: str) -> _Catalogue:
    voices = await _voices(tenant, engine)
    specs = [(voice, _spec_with_companion(voice)) for voice in voices]
    by_name: dict[str, VoiceSpec] = {}
    for own in (True, False):
        scope = [(voice, spec) for voice, spec in specs if (voice.tenant_id is not None) == own]
        for voice, spec in scope:
            by_name.setdefault(voice.name, spec)
        for voice, spec in scope:
            for alias in voice.aliases:
                by_name.setdefault(alias, spec)
    # By what the name stands for: a public alias may be a tenant's own name.
    recorded = {voice.name for voice in voices if voice.origin in REAL_PEOPLE}
    return _Catalogue(
        by_name,
        tuple(dict.fromkeys(voice.name for voice in voices)),
        frozenset(name for name, spec in by_name.items() if spec.name in recorded),
    )


def _spec_with_companion(voice: Voice) -> VoiceSpec:
    companion = voice.companion
    usable = (
        companion is not None
        and companion.is_active
        and companion.engine == voice.engine
        and companion.tenant_id in (None, voice.tenant_id)
    )
    return replace(_spec(voice), companion=_spec(companion) if companion and usable else None)


def _spec(voice: Voice) -> VoiceSpec:
    return VoiceSpec(
        name=voice.name,
        engine=voice.engine,
        parts=(VoicePart(voice.speaker, payload=bytes(voice.payload or b"")),),
        languages=tuple(voice.languages),
        gain_db=voice.gain_db,
    )


def voice_info(voice: Voice) -> VoiceInfo:
    """A voice as it is listed."""
    return VoiceInfo(
        name=voice.name,
        display_name=voice.display_name,
        engine=voice.engine,
        languages=tuple(voice.languages),
        aliases=tuple(voice.aliases),
        companion=voice.companion.name if voice.companion is not None else "",
        preview_text=voice.preview_text,
        is_public=voice.tenant_id is None,
        origin=VoiceOrigin(voice.origin),
        created=int(voice.created_at.timestamp()),
    )


def _uuid(tenant_id: UUID | str | None) -> UUID | None:
    return UUID(tenant_id) if isinstance(tenant_id, str) else tenant_id
