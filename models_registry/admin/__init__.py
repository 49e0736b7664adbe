"""The registry in the admin. Every change goes through a service."""

from models_registry.admin.routes import RouteAdmin, RouteEventAdmin
from models_registry.admin.versions import ModelVersionAdmin, SpeechModelAdmin

__all__ = ["ModelVersionAdmin", "RouteAdmin", "RouteEventAdmin", "SpeechModelAdmin"]
