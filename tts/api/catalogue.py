"""The models, in the shapes that clients read."""

from django.http import HttpRequest
from ninja import Router

from models_registry.errors import RouteNotFound
from models_registry.selectors import ListedModel
from tts.api.auth import CatalogueAuth, caller_of
from tts.api.reach import models_of
from tts.api.schemas import AudioModel, AudioModelList, ErrorEnvelope, ModelList, ModelObject

router = Router(tags=["Catalogue"], auth=CatalogueAuth())
REFUSED = {401: ErrorEnvelope, 503: ErrorEnvelope}


@router.get("/models", response={200: ModelList, **REFUSED}, summary="List models")
async def models_list(request: HttpRequest) -> ModelList:
    """The models that the caller may use."""
    return ModelList(data=[_model(item) for item in await models_of(caller_of(request))])


@router.get(
    "/models/{model_id}",
    response={200: ModelObject, 404: ErrorEnvelope, **REFUSED},
    summary="Get a model",
)
async def model_get(request: HttpRequest, model_id: str) -> ModelObject:
    """One model."""
    models = await models_of(caller_of(request))
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
    models = await models_of(caller_of(request))
    return AudioModelList(models=[AudioModel(id=item.name, name=item.name) for item in models])


def _model(item: ListedModel) -> ModelObject:
    return ModelObject(id=item.name, created=item.created)
