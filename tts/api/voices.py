"""A tenant's own voices: made over the API, shown, and taken out of use."""

from typing import Any
from uuid import UUID

from channels.db import database_sync_to_async
from django.http import HttpRequest
from ninja import Router, Status
from pydantic import ValidationError

from tenants.choices import Scope
from tenants.principal import Principal
from tts.api.auth import KeyAuth, caller_of
from tts.api.body import form_fields, json_object
from tts.api.catalogue import voice_object
from tts.api.schemas import ErrorEnvelope, VoiceCreate, VoiceDeleted, VoiceObject
from tts.errors import VoiceNotFound
from tts.selectors import VoiceInfo, speaker_space, voice_info, voice_own
from tts.services.own_voices import VoiceOrder, voice_order
from tts.services.voices import voice_deactivate
from tts.speech.errors import InvalidParameter, MissingParameter

router = Router(tags=["Voices"], auth=KeyAuth())
REFUSED = dict.fromkeys((400, 401, 403, 404, 409, 413, 415, 503), ErrorEnvelope)
_RECORDING = {
    "schema": {
        "type": "object",
        "required": ["name", "recording", "transcript", "consent"],
        "properties": {
            "name": {"type": "string"},
            "recording": {"type": "string", "format": "binary"},
            "transcript": {"type": "string"},
            "consent": {"type": "string"},
            "languages": {"type": "array", "items": {"type": "string"}},
            "display_name": {"type": "string"},
            "preview_text": {"type": "string"},
            "gain_db": {"type": "number"},
        },
    }
}


@router.post(
    "/audio/voices",
    response={201: VoiceObject, **REFUSED},
    summary="Make a voice",
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": VoiceCreate.model_json_schema()},
                "multipart/form-data": _RECORDING,
            },
        }
    },
)
async def voice_create(request: HttpRequest) -> Status[VoiceObject]:
    """A voice of the caller's own.

    From a `seed`, from ChatTTS' `spk_emb` or `spk_smp` strings, or, as a form with a
    file, from a `recording` of 2 to 15 seconds. A real person's voice needs the words that are
    spoken (`transcript`) and whose `consent` there is; both are kept.
    """
    caller = _manager(request)
    info = await _order(request, caller)
    return Status(201, voice_object(info))


@router.delete(
    "/audio/voices/{voice_id}",
    response={200: VoiceDeleted, **REFUSED},
    summary="Take a voice out of use",
)
async def voice_delete(request: HttpRequest, voice_id: str) -> VoiceDeleted:
    """From now on no request finds it; who made it, and with what consent, stays on record."""
    caller = _manager(request)
    await _deactivate(voice_id, caller)
    return VoiceDeleted(id=voice_id)


def _manager(request: HttpRequest) -> Principal:
    caller = caller_of(request)
    assert caller is not None  # noqa: S101 - KeyAuth lets nobody else in
    caller.require_scope(Scope.VOICES)
    return caller


@database_sync_to_async
def _order(request: HttpRequest, caller: Principal) -> VoiceInfo:
    values, recording = _body(request)
    try:
        wanted = VoiceCreate.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        param = ".".join(str(part) for part in first["loc"]) or None
        raise InvalidParameter(f"{param or 'body'}: {first['msg']}", param=param) from error
    order = VoiceOrder(
        **wanted.model_dump(exclude={"languages"}),
        languages=tuple(wanted.languages),
        tenant_id=UUID(caller.tenant_id),
        recording=recording,
        changed_by=caller.key_prefix,
    )
    return voice_info(voice_order(order, speaker_space()))


@database_sync_to_async
def _deactivate(name: str, caller: Principal) -> None:
    voice = voice_own(name, caller.tenant_id)
    if voice is None:
        raise VoiceNotFound(name)
    voice_deactivate(voice, changed_by=caller.key_prefix)


def _body(request: HttpRequest) -> tuple[dict[str, Any], bytes | None]:
    """The fields, and the file of a form."""
    if request.content_type != "multipart/form-data":
        return json_object(request) or {}, None
    fields, files = form_fields(request)
    values: dict[str, Any] = {name: fields[name] for name in fields}
    if "languages" in values:
        values["languages"] = fields.getlist("languages")
    file = files.get("recording")
    if file is None:
        raise MissingParameter("recording")
    return values, file.read()
