"""The admin's look and its sidebar, as Unfold takes them."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse_lazy


def _static(path: str) -> Callable[[HttpRequest], str]:
    # Settings are read before the static files storage can be.
    return lambda request: static(path)


def _page(title: str, icon: str, model: str) -> dict[str, Any]:
    """A sidebar entry for the list of `model` ("app.name"), for those who may see it."""
    app, name = model.split(".")
    return {
        "title": title,
        "icon": icon,
        "link": reverse_lazy(f"admin:{app}_{name}_changelist"),
        "permission": lambda request: request.user.has_perm(f"{app}.view_{name}"),
    }


UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "Voicehost",
    "SITE_HEADER": "Voicehost",
    "SITE_SYMBOL": "graphic_eq",
    # There is no page outside the admin for a person to return to.
    "SITE_URL": None,
    "SITE_FAVICONS": [
        {"rel": "icon", "type": "image/svg+xml", "href": _static("voicehost/favicon.svg")}
    ],
    "STYLES": [_static("voicehost/admin.css")],
    "SHOW_HISTORY": True,
    "DASHBOARD_CALLBACK": "voicehost.dashboard.dashboard_context",
    "SIDEBAR": {
        "show_search": True,
        "navigation": [
            {
                "items": [
                    {"title": "Overview", "icon": "dashboard", "link": reverse_lazy("admin:index")}
                ],
            },
            {
                "title": "Tenants",
                "items": [
                    _page("Tenants", "domain", "tenants.tenant"),
                    _page("API keys", "key", "tenants.apikey"),
                    _page("Quality tiers", "tune", "tenants.qualitytier"),
                ],
            },
            {
                "title": "Speech",
                "items": [
                    _page("Voices", "record_voice_over", "tts.voice"),
                    _page("Routes", "alt_route", "models_registry.route"),
                    _page("Route history", "timeline", "models_registry.routeevent"),
                    _page("Models", "deployed_code", "models_registry.speechmodel"),
                    _page("Versions", "layers", "models_registry.modelversion"),
                ],
            },
            {
                "title": "Access",
                "items": [
                    _page("Users", "person", "auth.user"),
                    _page("Roles", "group", "auth.group"),
                    _page("Audit log", "history", "auditlog.logentry"),
                ],
            },
            {
                "title": "Operation",
                "items": [
                    _page("Platform settings", "settings", "voicehost.platformsettings"),
                    _page("Scheduled tasks", "schedule", "django_celery_beat.periodictask"),
                    {"title": "API documentation", "icon": "menu_book", "link": "/v1/docs"},
                ],
            },
        ],
    },
}
