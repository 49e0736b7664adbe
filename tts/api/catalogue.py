"""What can speak: models and voices, in the shapes that clients read."""

from django.http import HttpRequest
from ninja import Query, Router

from models_registry.errors import RouteNotFound
from models_registry.selectors import EVERY_PUBLIC, ListedModel, models_listed, route
from tenants.principal import Principal
from tts.api.auth import CatalogueAuth, caller_of
from tts.api.schemas import (
    AudioModel,
    AudioModelList,
    ErrorEnvelope,
    ModelList,
    ModelObject,
    VoiceList,
    VoiceNames,
    VoiceObject,
    VoiceQuery,
)
from tts.runtime import runtime_get
from tts.selectors import VoiceInfo, voices_listed
from tts.speech.directory import model_access

router = Router(tags=["Catalogue"], auth=CatalogueAuth())
REFUSED = {401: ErrorEnvelope, 503: ErrorEnvelope}


@router.get("/models", response={200: ModelList, **REFUSED}, summary="List models")
async def models_list(request: HttpRequest) -> ModelList:
    """The models that the caller may use."""
    return ModelList(data=[_model(item) for item in await _models(caller_of(request))])


@router.get(
    "/models/{model_id}",
    response={200: ModelObject, 404: ErrorEnvelope, **REFUSED},
    summary="Get a model",
)
async def model_get(request: HttpRequest, model_id: str) -> ModelObject:
    """One model."""
    models = await _models(caller_of(request))
    for item in models:
        if item.name == model_id:
            return _model(item)
    raise RouteNotFound(model_id, [item.name for item in models])


@router.get(
    "/audio/models",
    response={200: AudioModelList, **REFUSED},
    summary="List speech models, as Open WebUI reads them",
)
async def audio_models_list(request: HttpRequest) -> AudioModelList:
    """The same models in another shape."""
    models = await _models(caller_of(request))
    return AudioModelList(models=[AudioModel(id=item.name, name=item.name) for item in models])


@router.get(
    "/audio/voices",
    response={200: VoiceList | VoiceNames, **dict.fromkeys((400, 404), ErrorEnvelope), **REFUSED},
    summary="List voices",
)
async def audio_voices_list(
    request: HttpRequest,
    query: Query[VoiceQuery],
) -> VoiceList | VoiceNames:
    """The voices that the caller may use: its own, and the public ones."""
    caller = caller_of(request)
    voices: dict[str, VoiceInfo] = {}
    for engine in await _engines(caller, query.model):
        for voice in await voices_listed(caller.tenant_id if caller else None, engine):
            voices.setdefault(voice.name, voice)
    if query.legacy:
        return VoiceNames(voices=list(voices))
    listed = [voice_object(voice) for voice in voices.values()]
    return VoiceList(voices=listed, data=listed)


async def _models(caller: Principal | None) -> tuple[ListedModel, ...]:
    """What the caller may use in one tier or another; anybody: what is public."""
    return await models_listed(model_access(caller) if caller else EVERY_PUBLIC)


async def _engines(caller: Principal | None, model: str | None) -> list[str]:
    """The engines behind `model`, or behind all models of the caller; raises RouteNotFound."""
    cache = (await runtime_get()).cache
    key_id = caller.key_id if caller else ""
    access = model_access(caller) if caller else EVERY_PUBLIC
    names = [item.name for item in await _models(caller)]
    if model is not None:
        if model not in names:
            raise RouteNotFound(model, names)
        names = [model]
    engines = [(await route(name, key_id, cache=cache, access=access)).engine for name in names]
    return list(dict.fromkeys(engines))


def _model(item: ListedModel) -> ModelObject:
    return ModelObject(id=item.name, created=item.created)


def voice_object(voice: VoiceInfo) -> VoiceObject:
    """A voice as the API shows it."""
    return VoiceObject(
        id=voice.name,
        name=voice.display_name or voice.name,
        language=voice.languages[0] if voice.languages else "",
        languages=list(voice.languages),
        companion=voice.companion or None,
        aliases=list(voice.aliases),
        preview_text=voice.preview_text,
        is_public=voice.is_public,
    )
