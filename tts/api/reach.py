"""What a caller may use: its models, and the versions that speak for it."""

from models_registry.errors import RouteNotFound
from models_registry.selectors import (
    EVERY_PUBLIC,
    ListedModel,
    RoutedVersion,
    models_listed,
    route,
)
from tenants.principal import Principal
from tts.runtime import runtime_get
from tts.speech.directory import model_access


async def models_of(caller: Principal | None) -> tuple[ListedModel, ...]:
    """What the caller may use in one tier or another; anybody (None): what is public."""
    return await models_listed(model_access(caller) if caller else EVERY_PUBLIC)


async def versions_of(caller: Principal | None, model: str | None = None) -> list[RoutedVersion]:
    """What serves the caller on `model`, or on each of its models; raises RouteNotFound."""
    cache = (await runtime_get()).cache
    key_id = caller.key_id if caller else ""
    access = model_access(caller) if caller else EVERY_PUBLIC
    names = [item.name for item in await models_of(caller)]
    if model is not None:
        if model not in names:
            raise RouteNotFound(model, names)
        names = [model]
    return [await route(name, key_id, cache=cache, access=access) for name in names]
