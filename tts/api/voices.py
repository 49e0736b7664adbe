"""Voices: those that a caller may use, and a tenant's own, made and deleted."""

from collections.abc import Iterable
from uuid import UUID

from channels.db import database_sync_to_async
from django.http import HttpRequest
from ninja import Query, Router, Status

from tenants.choices import Scope
from tenants.principal import Principal
from tts.api.auth import CatalogueAuth, KeyAuth, caller_of
from tts.api.reach import versions_of
from tts.api.schemas import (
    ErrorEnvelope,
    VoiceDeleted,
    VoiceList,
    VoiceNames,
    VoiceObject,
    VoiceQuery,
)
from tts.api.voice_body import voice_body, voice_body_schema
from tts.engines.chattts import ENGINE as CHATTTS
from tts.errors import VoiceNotFound, VoicesNotTaken
from tts.selectors import (
    VoiceInfo,
    speaker_space,
    voice_info,
    voice_own,
    voices_listed,
)
from tts.services.own_voices import VoiceOrder, voice_order
from tts.services.voice_material import VoiceSource
from tts.services.voices import voice_erase

# One router for all of them: Ninja looks for a path's methods in the first that has the path.
router = Router(tags=["Voices"], auth=CatalogueAuth())
LOOKED = {401: ErrorEnvelope, 404: ErrorEnvelope, 503: ErrorEnvelope}
REFUSED = dict.fromkeys((400, 401, 403, 409, 413, 415, 503), ErrorEnvelope)


@router.get(
    "/audio/voices",
    response={200: VoiceList | VoiceNames, 400: ErrorEnvelope, **LOOKED},
    summary="List voices",
)
async def audio_voices_list(
    request: HttpRequest,
    query: Query[VoiceQuery],
) -> VoiceList | VoiceNames:
    """The voices that the caller may use: its own, and the public ones."""
    voices = await _voices(caller_of(request), query.model)
    if query.legacy:
        return VoiceNames(voices=list(voices))
    listed = [_voice(voice) for voice in voices.values()]
    return VoiceList(voices=listed, data=listed)


@router.get(
    "/audio/voices/{voice_id}", response={200: VoiceObject, **LOOKED}, summary="Get a voice"
)
async def audio_voice_get(request: HttpRequest, voice_id: str) -> VoiceObject:
    """One voice that the caller may use, by its name or, where none has that, by an alias."""
    voices = await _voices(caller_of(request), None)
    voice = voices.get(voice_id) or _by_alias(voice_id, voices.values())
    if voice is None:
        raise VoiceNotFound(voice_id, among="for this key")
    return _voice(voice)


@router.post(
    "/audio/voices",
    auth=KeyAuth(),
    response={201: VoiceObject, **REFUSED},
    summary="Make a voice",
    openapi_extra={"requestBody": voice_body_schema()},
)
async def audio_voice_create(request: HttpRequest) -> Status[VoiceObject]:
    """A voice of the caller's own.

    From a `seed`, from ChatTTS' `spk_emb` or `spk_smp` strings, or, as a form with a
    file, from a `recording` of 2 to 8 seconds. A real person's voice needs the words that are
    spoken (`transcript`) and whose `consent` there is; both are kept. A name that is taken
    is refused (409), so a repeated request never makes two.
    """
    caller = _manager(request)
    versions = await versions_of(caller)
    version = next((found.version for found in versions if found.engine == CHATTTS), None)
    if version is None:
        raise VoicesNotTaken
    return Status(201, _voice(await _make(request, caller, version)))


@router.delete(
    "/audio/voices/{voice_id}",
    auth=KeyAuth(),
    response={200: VoiceDeleted, 404: ErrorEnvelope, **REFUSED},
    summary="Delete a voice",
)
async def audio_voice_delete(request: HttpRequest, voice_id: str) -> VoiceDeleted:
    """The voice and its recording are deleted; that it was, and with what consent, is on record.

    A second time it does not exist (404).
    """
    await _erase(voice_id, _manager(request))
    return VoiceDeleted(id=voice_id)


def _manager(request: HttpRequest) -> Principal:
    caller = caller_of(request)
    assert caller is not None  # noqa: S101 - KeyAuth lets nobody else in
    caller.require_scope(Scope.VOICES)
    return caller


async def _voices(caller: Principal | None, model: str | None) -> dict[str, VoiceInfo]:
    """The caller's voices by name; raises RouteNotFound."""
    voices: dict[str, VoiceInfo] = {}
    engines = [version.engine for version in await versions_of(caller, model)]
    for engine in dict.fromkeys(engines):
        for voice in await voices_listed(caller.tenant_id if caller else None, engine):
            voices.setdefault(voice.name, voice)
    return voices


def _by_alias(alias: str, voices: Iterable[VoiceInfo]) -> VoiceInfo | None:
    """The voice that speech would take: the caller's own before a public one."""
    called = [voice for voice in voices if alias in voice.aliases]
    return min(called, key=lambda voice: voice.is_public, default=None)


@database_sync_to_async
def _make(request: HttpRequest, caller: Principal, version: str) -> VoiceInfo:
    wanted, recording = voice_body(request)
    order = VoiceOrder(
        name=wanted.name,
        tenant_id=UUID(caller.tenant_id),
        languages=tuple(dict.fromkeys(wanted.languages)),
        source=VoiceSource(
            seed=wanted.seed,
            embedding=wanted.embedding,
            sample=wanted.sample,
            recording=recording,
            transcript=wanted.transcript,
        ),
        consent=wanted.consent,
        display_name=wanted.display_name,
        gain_db=wanted.gain_db,
        preview_text=wanted.preview_text,
        changed_by=caller.key_prefix,
    )
    return voice_info(voice_order(order, speaker_space(version)))


@database_sync_to_async
def _erase(name: str, caller: Principal) -> None:
    voice = voice_own(name, caller.tenant_id)
    if voice is None:
        raise VoiceNotFound(name, among="among this tenant's own")
    voice_erase(voice, changed_by=caller.key_prefix)


def _voice(voice: VoiceInfo) -> VoiceObject:
    return VoiceObject(
        id=voice.name,
        name=voice.display_name or voice.name,
        language=voice.languages[0] if voice.languages else "",
        languages=list(voice.languages),
        companion=voice.companion or None,
        aliases=list(voice.aliases),
        preview_text=voice.preview_text or None,
        is_public=voice.is_public,
        origin=voice.origin,
        created=voice.created,
    )
