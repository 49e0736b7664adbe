"""Writing to the registry. Everything here bumps the configuration epoch on commit."""

from models_registry.services.checks import CheckedProfile, version_checks_set
from models_registry.services.routes import (
    route_create,
    route_delete,
    route_rollback,
    route_set,
    route_set_or_create,
    route_update,
    split_check,
)
from models_registry.services.versions import (
    speech_model_create,
    speech_model_describe,
    version_batching_set,
    version_register,
    version_sources_refresh,
    version_transition,
)

__all__ = [
    "CheckedProfile",
    "route_create",
    "route_delete",
    "route_rollback",
    "route_set",
    "route_set_or_create",
    "route_update",
    "speech_model_create",
    "speech_model_describe",
    "split_check",
    "version_batching_set",
    "version_checks_set",
    "version_register",
    "version_sources_refresh",
    "version_transition",
]
